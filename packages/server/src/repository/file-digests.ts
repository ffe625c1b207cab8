import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';

/** Files whose digest is remembered; a repository of more is hashed again at each scan. */
const MAX_REMEMBERED_FILES = 10_000;
const CHUNK_BYTES = 256 * 1024;

interface Remembered {
  readonly stamp: string;
  readonly digest: string;
}

/** sha256 of files, read in pieces, and again only when size, time or identity of the file changed. */
export class FileDigests {
  readonly #remembered = new Map<string, Remembered>();

  /** Hex. Fails like the file system does. */
  async digest(path: string): Promise<string> {
    const stamp = await fileStamp(path);
    const known = this.#remembered.get(path);
    if (known?.stamp === stamp) return known.digest;
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES }))
      hash.update(chunk as Buffer);
    const digest = hash.digest('hex');
    // Remembered only when nobody wrote meanwhile.
    if ((await fileStamp(path)) === stamp) this.#remember(path, { stamp, digest });
    return digest;
  }

  #remember(path: string, entry: Remembered): void {
    if (this.#remembered.size >= MAX_REMEMBERED_FILES) this.#remembered.clear();
    this.#remembered.set(path, entry);
  }
}

async function fileStamp(path: string): Promise<string> {
  const { size, mtimeMs, ctimeMs, ino } = await stat(path);
  return `${size}:${mtimeMs}:${ctimeMs}:${ino}`;
}
