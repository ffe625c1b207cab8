import type { FieldError } from '@gimbal/core';

/** One thing that is wrong with a file of the repository or of the configuration. */
export interface FileProblem {
  /** Relative to what was read; never an absolute path. */
  readonly file: string;
  /** From 1; undefined when the whole file is meant. */
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** `variants[1].file`; "" when no field is meant. */
  readonly field: string;
  readonly expected: string;
  readonly got: string;
  readonly hint: string | undefined;
}

/** `1/version.yaml:3:7`, as editors and terminals make links of it. */
export function placeOf(problem: FileProblem): string {
  return problem.line === undefined ? problem.file : `${problem.file}:${problem.line}:${problem.column ?? 1}`;
}

/** `1/version.yaml:3:7: task: expected …, got …, did you mean …?` */
export function describeProblem(problem: FileProblem): string {
  const field = problem.field === '' ? '' : `${problem.field}: `;
  const hint = problem.hint === undefined ? '' : `; ${problem.hint}`;
  return `${placeOf(problem)}: ${field}expected ${problem.expected}, got ${problem.got}${hint}`;
}

export function toFieldError(problem: FileProblem): FieldError {
  const field = problem.field === '' ? '' : ` ${problem.field}`;
  return {
    pointer: `${placeOf(problem)}${field}`,
    expected: problem.expected,
    received: problem.got,
    ...(problem.hint === undefined ? {} : { hint: problem.hint }),
  };
}
