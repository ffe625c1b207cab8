/** Calls `continuation` once everybody else has had a turn. */
export function inNextTurn(continuation: () => void): void {
  setImmediate(continuation);
}
