import type { Dirent } from 'node:fs';
import { open, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Entries of one folder that are looked at. */
const MAX_ENTRIES = 10_000;

export interface FolderListing {
  /** Regular files, and links to them, by name. */
  readonly files: readonly string[];
  readonly folders: readonly string[];
  /** True when the folder has more entries than are looked at. */
  readonly cut: boolean;
}

/** Names in a folder, sorted; those that begin with a dot are skipped. Fails like the file system does. */
export async function listFolder(folder: string): Promise<FolderListing> {
  const files: string[] = [];
  const folders: string[] = [];
  let count = 0;
  for await (const entry of await opendir(folder)) {
    count += 1;
    if (count > MAX_ENTRIES) break;
    if (entry.name.startsWith('.')) continue;
    const kind = await kindOf(folder, entry);
    if (kind === 'file') files.push(entry.name);
    if (kind === 'folder') folders.push(entry.name);
  }
  return { files: files.sort(), folders: folders.sort(), cut: count > MAX_ENTRIES };
}

async function kindOf(folder: string, entry: Dirent): Promise<'file' | 'folder' | 'other'> {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'folder';
  if (!entry.isSymbolicLink()) return 'other';
  try {
    const target = await stat(join(folder, entry.name));
    return target.isFile() ? 'file' : target.isDirectory() ? 'folder' : 'other';
  } catch {
    // A link to nowhere: reading it will say so where it matters.
    return 'file';
  }
}

export type SmallText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'too-large'; readonly byteLength: number }
  | { readonly kind: 'unreadable'; readonly why: string };

/** A text file of at most `limitBytes`, without byte order mark. */
export async function readSmallText(path: string, limitBytes: number): Promise<SmallText> {
  try {
    const file = await open(path, 'r');
    try {
      const bytes = Buffer.alloc(limitBytes + 1);
      let length = 0;
      while (length < bytes.length) {
        const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      if (length > limitBytes) return { kind: 'too-large', byteLength: length };
      const text = bytes.toString('utf8', 0, length);
      return { kind: 'text', text: text.startsWith('\uFEFF') ? text.slice(1) : text };
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = String((error as NodeJS.ErrnoException).code);
    return code === 'ENOENT' ? { kind: 'missing' } : { kind: 'unreadable', why: code };
  }
}
