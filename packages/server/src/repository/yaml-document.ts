import type { CheckedDocument, ConfigurationProblem } from '@gimbal/core/config';
import { fieldName } from '@gimbal/core/config';
import { type Document, isMap, isNode, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import type { FileProblem } from './file-problem.ts';

/** A configuration is written by people; more is a mistake or an attack. */
export const MAX_YAML_BYTES = 1024 * 1024;

/** Uses of anchors in one document, against "billion laughs". */
const MAX_ALIASES = 100;

/** Most syntax errors told of one file. */
const MAX_SYNTAX_PROBLEMS = 20;

/** A YAML file that remembers where each value stands. */
export class YamlDocument {
  readonly file: string;
  /** As plain objects, arrays and scalars; undefined when the document is empty or wrong. */
  readonly value: unknown;
  /** Syntax errors; nothing else can be said of a document that has any. */
  readonly problems: readonly FileProblem[];
  readonly #document: Document;
  readonly #lines = new LineCounter();

  /** `file` is the name that messages give it. */
  constructor(file: string, text: string) {
    this.file = file;
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false, version: '1.2' });
    const problems = this.#syntaxProblems();
    if (problems.length === 0) {
      try {
        this.value = this.#document.toJS({ maxAliasCount: MAX_ALIASES }) ?? undefined;
      } catch (error) {
        problems.push(this.#syntaxProblem(error instanceof Error ? error.message : String(error), 0));
      }
    }
    this.problems = problems;
  }

  /** A problem of the document's values, with its place. */
  locate(problem: ConfigurationProblem): FileProblem {
    const { line, column } = this.#positionOf(problem.path, problem.at);
    return {
      file: this.file,
      line,
      column,
      field: fieldName(problem.path),
      expected: problem.expected,
      got: problem.got,
      hint: problem.hint,
    };
  }

  /** The checked value, or every problem with its place. */
  problemsOf<T>(checked: CheckedDocument<T>): readonly FileProblem[] {
    if (checked.ok) return [];
    return checked.problems.map((problem) => this.locate(problem)).sort(byPlace);
  }

  #syntaxProblems(): FileProblem[] {
    return this.#document.errors
      .slice(0, MAX_SYNTAX_PROBLEMS)
      .map((error) => this.#syntaxProblem(error.message, error.pos[0]));
  }

  #syntaxProblem(message: string, offset: number): FileProblem {
    const { line, col } = this.#lines.linePos(offset);
    return {
      file: this.file,
      line: Math.max(1, line),
      column: Math.max(1, col),
      field: '',
      expected: 'YAML',
      got: message.split('\n')[0] ?? '',
      hint: undefined,
    };
  }

  /** Of the deepest node on the path that exists: a missing field is told at the mapping that lacks it. */
  #positionOf(path: readonly (string | number)[], at: 'key' | 'value'): { line: number; column: number } {
    let node: unknown = this.#document.contents;
    let offset = offsetOf(node);
    for (const [index, key] of path.entries()) {
      const found = childOf(node, key);
      if (found === undefined) break;
      const isLast = index === path.length - 1;
      offset =
        (isLast && at === 'key' ? found.keyOffset : offsetOf(found.value)) ?? found.keyOffset ?? offset;
      node = found.value;
    }
    const { line, col } = this.#lines.linePos(offset ?? 0);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  }
}

function byPlace(left: FileProblem, right: FileProblem): number {
  return (left.line ?? 0) - (right.line ?? 0) || (left.column ?? 0) - (right.column ?? 0);
}

interface Child {
  readonly value: unknown;
  readonly keyOffset: number | undefined;
}

function childOf(node: unknown, key: string | number): Child | undefined {
  if (isSeq(node) && typeof key === 'number') {
    const value = node.items[key];
    return value === undefined ? undefined : { value, keyOffset: offsetOf(value) };
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(key));
  return pair === undefined ? undefined : { value: pair.value, keyOffset: offsetOf(pair.key) };
}

function offsetOf(node: unknown): number | undefined {
  return isNode(node) ? (node as Node).range?.[0] : undefined;
}
