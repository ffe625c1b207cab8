import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';

/** What a page may pay for its client. */
const MAX_GZIP_BYTES = 20 * 1024;

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return entry.name === 'testing' ? [] : sourceFiles(join(folder, entry.name));
    return entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts') ? [join(folder, entry.name)] : [];
  });
}

/** Without types, comments and indentation, names as they are: more than a bundler would leave. */
function slim(source: string): string {
  return stripTypeScriptTypes(source)
    .replace(/^\s*\/\*\*[\s\S]*?\*\//gm, '')
    .replace(/^\s*\/\/.*$/gm, '')
    .replace(/^\s+/gm, '')
    .replace(/[ \t]+$/gm, '');
}

it('the whole client is smaller than 20 KiB, gzipped', () => {
  const files = sourceFiles(import.meta.dirname);
  expect(files.length).toBeGreaterThan(20);
  const text = files.map((file) => slim(readFileSync(file, 'utf8'))).join('\n');
  const gzipBytes = gzipSync(text, { level: 9 }).length;
  process.stderr.write(`@gimbal/client: ${text.length} bytes, ${gzipBytes} gzipped\n`);
  expect(gzipBytes).toBeLessThan(MAX_GZIP_BYTES);
});

it('imports nothing but its own files', () => {
  for (const file of sourceFiles(import.meta.dirname)) {
    const imports = [...readFileSync(file, 'utf8').matchAll(/from '([^']+)'/g)].map((match) => match[1]);
    expect(imports.filter((specifier) => !specifier?.startsWith('.'))).toEqual([]);
  }
});
