import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Finding } from '../repository/finding.ts';

const LINK = /\]\(([^)\s#]+)(#[^)\s]*)?\)/g;

/** Links of a page to files of the checkout that are not there. Links to other sites are not followed. */
export function checkLinks(root: string, page: { readonly path: string; readonly text: string }): Finding[] {
  return page.text.split('\n').flatMap((text, index) =>
    [...text.matchAll(LINK)]
      .map((match) => match[1] ?? '')
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => !existsSync(join(root, dirname(page.path), target)))
      .map((target) => ({
        path: page.path,
        line: index + 1,
        message: `links to ${target}, which does not exist`,
      })),
  );
}
