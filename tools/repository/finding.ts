/** Something in the checkout that breaks a rule of the house. */
export interface Finding {
  /** Relative to the root. */
  readonly path: string;
  /** 1-based; 0 when it is about the file as a whole. */
  readonly line: number;
  /** What is wrong, and how to mend it. */
  readonly message: string;
}

/** `path:line message` for each, as editors and terminals link it; the exit code of a checker. */
export function report(checker: string, findings: readonly Finding[]): number {
  for (const { path, line, message } of findings) {
    console.error(line > 0 ? `${path}:${line} ${message}` : `${path} ${message}`);
  }
  if (findings.length === 0) return 0;
  console.error(`${checker}: ${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}`);
  return 1;
}
