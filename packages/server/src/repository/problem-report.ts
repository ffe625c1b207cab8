import { GimbalError } from '@gimbal/core';
import { describeProblem, type FileProblem, toFieldError } from './file-problem.ts';
import type { VersionSource } from './version-source.ts';
import type { YamlDocument } from './yaml-document.ts';

/** Most problems told of one version. */
const MAX_PROBLEMS = 50;

/** Gathers everything that is wrong with one version, so that one look at the messages is enough. */
export class ProblemReport {
  readonly #source: VersionSource;
  readonly #problems: FileProblem[] = [];
  #document: YamlDocument | undefined;

  constructor(source: VersionSource) {
    this.#source = source;
  }

  get problems(): readonly FileProblem[] {
    return this.#problems;
  }

  get isEmpty(): boolean {
    return this.#problems.length === 0;
  }

  /** The version's own version.yaml: later problems of its fields are told at their lines. */
  set document(document: YamlDocument) {
    this.#document = document;
  }

  /** `digits/1/labels.txt`: a file of the version as messages name it. */
  shown(file: string): string {
    return this.#source.shownFolder === '' ? file : `${this.#source.shownFolder}/${file}`;
  }

  add(...problems: readonly FileProblem[]): void {
    for (const problem of problems) if (this.#problems.length < MAX_PROBLEMS) this.#problems.push(problem);
  }

  /** Something about a file of the version. */
  addFile(file: string, problem: { expected: string; got: string; hint?: string | undefined }): void {
    this.add({
      file: this.shown(file),
      line: undefined,
      column: undefined,
      field: '',
      expected: problem.expected,
      got: problem.got,
      hint: problem.hint,
    });
  }

  /** Something about a field; told at its line when version.yaml declares it, else about `file`. */
  addField(
    path: readonly (string | number)[],
    problem: { expected: string; got: string; hint?: string | undefined },
    file = 'version.yaml',
  ): void {
    const { expected, got, hint } = problem;
    if (this.#document === undefined) this.addFile(file, problem);
    else this.add(this.#document.locate({ path, at: 'value', expected, got, hint }));
  }

  /** What a request for the version is told, and what `gimbal check` lists. */
  error(): GimbalError {
    const [first] = this.#problems;
    const more = this.#problems.length > 1 ? ` (and ${this.#problems.length - 1} more)` : '';
    const { model, version } = this.#source;
    const what = first === undefined ? 'it can not be read' : describeProblem(first);
    return new GimbalError('MODEL_UNAVAILABLE', `Cannot load ${model} version ${version}: ${what}${more}`, {
      fields: this.#problems.map(toFieldError),
    });
  }
}
