/** Writes a text somewhere and says when it has gone, or that it never will; what the log's sink writes to. */
type Target = (text: string, done: (error?: Error | null) => void) => void;

/** The same target, which refuses as a full disk does while the board says so. */
export function targetWithDrills(target: Target, board: { readonly isDiskFull: boolean }): Target {
  return (text, done) => {
    if (!board.isDiskFull) {
      target(text, done);
      return;
    }
    const error: NodeJS.ErrnoException = new Error('ENOSPC: no space left on device, write');
    error.code = 'ENOSPC';
    queueMicrotask(() => done(error));
  };
}
