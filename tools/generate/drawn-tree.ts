/** A folder that ARCHITECTURE.md names in its drawn tree. */
export interface DrawnFolder {
  readonly path: string;
  /** 1-based line of the page. */
  readonly line: number;
}

const START = '<!-- tree -->';

/**
 * Reads the tree that is drawn in the first code block after `<!-- tree -->`. One folder a line, two spaces of
 * indentation a level; what follows the first word is its explanation.
 */
export function drawnFolders(page: string): DrawnFolder[] {
  const lines = page.split('\n');
  const marker = lines.findIndex((line) => line.trim() === START);
  if (marker === -1)
    throw new Error(`Cannot read the drawn tree: expected a line "${START}" before its code block`);
  const open = lines.findIndex((line, index) => index > marker && line.startsWith('```'));
  const close = lines.findIndex((line, index) => index > open && line.startsWith('```'));
  const folders: DrawnFolder[] = [];
  const above: string[] = [];
  for (let index = open + 1; index < close; index += 1) {
    const line = lines[index] ?? '';
    const name = line.trim().split(/\s+/)[0] ?? '';
    if (name === '') continue;
    const depth = Math.floor((line.length - line.trimStart().length) / 2);
    above.length = depth;
    above[depth] = name.replace(/\/$/, '');
    folders.push({ path: above.slice(0, depth + 1).join('/'), line: index + 1 });
  }
  return folders;
}
