/** An answer with the HTTP around it. */
export interface WithResponse<T> {
  readonly data: T;
  /** Status and headers; its body has been read. */
  readonly response: Response;
  readonly requestId: string | undefined;
  /** Requests that were sent. */
  readonly attempts: number;
}

export interface InferPromise<T> extends Promise<T> {
  /** The same call, seen with its response. */
  withResponse(): Promise<WithResponse<T>>;
}

export function inferPromise<T>(call: Promise<WithResponse<T>>): InferPromise<T> {
  const answer = call.then(({ data }) => data);
  return Object.assign(answer, {
    withResponse(): Promise<WithResponse<T>> {
      // Whoever asks for the response sees the failure there: the bare answer, which nobody awaits then, is not a second one.
      answer.catch(() => {});
      return call;
    },
  });
}
