import type { RequestHead } from './exchange.ts';

/** What the parser has found out of a head, for `HttpHead`. */
export interface HeadParts {
  /** The head as latin1; header values are cut out of it when they are asked for. */
  readonly text: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly contentLength: number | undefined;
  /** In lower case. */
  readonly names: readonly string[];
  /** Two offsets into `text` a header: where its value starts and ends. */
  readonly values: readonly number[];
  readonly keepAlive: boolean;
  readonly isHttp10: boolean;
  readonly expectsContinue: boolean;
}

/** A parsed head. Only what is asked for becomes a string. */
export class HttpHead implements RequestHead {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly contentLength: number | undefined;
  /** By version and Connection header: whether the client wants another request on this connection. */
  readonly keepAlive: boolean;
  readonly isHttp10: boolean;
  /** The client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean;
  readonly #text: string;
  readonly #names: readonly string[];
  readonly #values: readonly number[];
  #map: Map<string, string> | undefined;

  constructor(parts: HeadParts) {
    this.method = parts.method;
    this.path = parts.path;
    this.query = parts.query;
    this.contentLength = parts.contentLength;
    this.keepAlive = parts.keepAlive;
    this.isHttp10 = parts.isHttp10;
    this.expectsContinue = parts.expectsContinue;
    this.#text = parts.text;
    this.#names = parts.names;
    this.#values = parts.values;
  }

  header(name: string): string | undefined {
    let found: string | undefined;
    for (let index = 0; index < this.#names.length; index += 1) {
      if (this.#names[index] !== name) continue;
      const value = this.#valueAt(index);
      found = found === undefined ? value : `${found}, ${value}`;
    }
    return found;
  }

  headers(): ReadonlyMap<string, string> {
    if (this.#map) return this.#map;
    const map = new Map<string, string>();
    for (let index = 0; index < this.#names.length; index += 1) {
      const name = this.#names[index] as string;
      const value = this.#valueAt(index);
      const before = map.get(name);
      map.set(name, before === undefined ? value : `${before}, ${value}`);
    }
    this.#map = map;
    return map;
  }

  #valueAt(index: number): string {
    return this.#text.slice(this.#values[2 * index], this.#values[2 * index + 1]);
  }
}
