import { assert } from '../../base/assert.ts';
import type { Instant } from '../../base/time.ts';

/**
 * What an entry costs besides its value and the characters of its key: the entry, its place in the map, the headers of
 * the value's objects. It also bounds the number of entries, so that walking over all of them stays short.
 */
export const ENTRY_OVERHEAD_BYTES = 512;

export interface KeptAnswer<Value> {
  readonly key: string;
  readonly value: Value;
  /** Of the whole entry. */
  readonly bytes: number;
  readonly storedAt: Instant;
  // Neighbours by last use.
  older: KeptAnswer<Value> | undefined;
  newer: KeptAnswer<Value> | undefined;
}

/**
 * Answers within a bound of bytes; the one that was not used for longest leaves first. Neighbours are linked by hand: the
 * insertion order of a `Map` would do, but its first key is found by walking over the holes that removed ones left.
 */
export class KeptAnswers<Value> {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, KeptAnswer<Value>>();
  #oldest: KeptAnswer<Value> | undefined = undefined;
  #newest: KeptAnswer<Value> | undefined = undefined;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  find(key: string): KeptAnswer<Value> | undefined {
    return this.#entries.get(key);
  }

  /** Makes it the last that leaves. */
  touch(entry: KeptAnswer<Value>): void {
    if (entry === this.#newest) return;
    this.#unlink(entry);
    this.#link(entry);
  }

  /** Keeps an answer instead of any other of its key; returns how many had to leave for it. It must fit the bound. */
  keep(answer: { key: string; value: Value; valueBytes: number }, now: Instant): number {
    const { key, value } = answer;
    const bytes = entryBytes(key, answer.valueBytes);
    assert(bytes <= this.#maxBytes, 'an answer that is kept fits the bound');
    const former = this.#entries.get(key);
    if (former) this.remove(former);
    let evicted = 0;
    while (this.#oldest && this.#bytes + bytes > this.#maxBytes) {
      this.remove(this.#oldest);
      evicted += 1;
    }
    const entry = { key, value, bytes, storedAt: now, older: undefined, newer: undefined };
    this.#entries.set(key, entry);
    this.#bytes += bytes;
    this.#link(entry);
    return evicted;
  }

  remove(entry: KeptAnswer<Value>): void {
    this.#entries.delete(entry.key);
    this.#bytes -= entry.bytes;
    this.#unlink(entry);
  }

  /** Removes all whose key starts with `prefix`; returns how many. Walks over every entry: for unloads, not for requests. */
  removeAll(prefix: string): number {
    let removed = 0;
    for (const entry of this.#entries.values()) {
      if (!entry.key.startsWith(prefix)) continue;
      this.remove(entry);
      removed += 1;
    }
    return removed;
  }

  #link(entry: KeptAnswer<Value>): void {
    entry.older = this.#newest;
    if (this.#newest) this.#newest.newer = entry;
    else this.#oldest = entry;
    this.#newest = entry;
  }

  #unlink(entry: KeptAnswer<Value>): void {
    const { older, newer } = entry;
    if (older) older.newer = newer;
    else this.#oldest = newer;
    if (newer) newer.older = older;
    else this.#newest = older;
    entry.older = undefined;
    entry.newer = undefined;
  }
}

/** Keys are of one byte a character: digests and ASCII names, nearly always. */
export function entryBytes(key: string, valueBytes: number): number {
  return key.length + valueBytes + ENTRY_OVERHEAD_BYTES;
}
