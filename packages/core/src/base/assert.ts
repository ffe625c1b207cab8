/** A broken invariant of the program itself: never caught but at the process edge. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** States what the programmer believes to be true; a failure is a bug here, never a user's mistake. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Marks the branch of an exhaustive switch that the compiler has proven unreachable. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable value ${JSON.stringify(value)}`);
}
