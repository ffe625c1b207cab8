/** A `fetch` whose answers a test gives when it likes. */
export class FakeFetch {
  readonly requests: PendingRequest[] = [];

  readonly fetch: typeof globalThis.fetch = (input, init) => {
    const request = new PendingRequest(String(input), init ?? {});
    this.requests.push(request);
    return request.response;
  };

  get last(): PendingRequest {
    const last = this.requests.at(-1);
    if (!last) throw new Error('nothing was fetched');
    return last;
  }
}

export class PendingRequest {
  readonly url: string;
  readonly headers: Headers;
  readonly signal: AbortSignal;
  readonly response: Promise<Response>;
  #resolve: (response: Response) => void = () => {};
  #reject: (error: unknown) => void = () => {};

  constructor(url: string, init: RequestInit) {
    this.url = url;
    this.headers = new Headers(init.headers as Headers);
    this.signal = init.signal as AbortSignal;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  answer(status: number, body: unknown, headers: Record<string, string> = {}): void {
    this.#resolve(
      new Response(JSON.stringify(body), {
        status,
        headers: { 'content-type': 'application/json', ...headers },
      }),
    );
  }

  fail(error: unknown): void {
    this.#reject(error);
  }
}
