import type { CallObserver, CallRecord } from '@gimbal/core';

/**
 * Tells several observers of each finished call. One that throws is a bug of ours: it must not take the answer of a
 * client with it, so it is reported and the others are still told.
 */
export function observeAll(
  observers: readonly CallObserver[],
  onFault: (error: unknown) => void,
): CallObserver {
  return {
    finished(record: CallRecord): void {
      for (const observer of observers) {
        try {
          observer.finished(record);
        } catch (error) {
          onFault(error);
        }
      }
    },
  };
}
