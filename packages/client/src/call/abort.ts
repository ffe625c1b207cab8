/**
 * Settles with the work, or rejects with the signal's reason as soon as that aborts, whatever the work does about it: not
 * every `fetch` obeys its signal at once.
 */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    const settle = (): void => signal.removeEventListener('abort', onAbort);
    work.then(resolve, reject).then(settle, settle);
  });
}

/** A controller that aborts with its parent and can abort alone; `release` when it is done, or the parent keeps it. */
export function childOf(parent: AbortSignal): { readonly controller: AbortController; release(): void } {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(parent.reason);
  if (parent.aborted) onAbort();
  else parent.addEventListener('abort', onAbort, { once: true });
  return { controller, release: () => parent.removeEventListener('abort', onAbort) };
}
