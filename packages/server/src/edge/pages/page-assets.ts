import { readFileSync } from 'node:fs';

/** The style and script of all pages, inlined so that a page is one answer. Read once, at start. */
export const PAGE_STYLE = readAsset('page.css');
export const PAGE_SCRIPT = ['theme.js', 'answer-view.js', 'drawing-pad.js', 'try-it.js']
  .map(readAsset)
  .join('\n');

/**
 * Only this very style and script may run: nothing that a model's name or a label could smuggle in would. Requests go to
 * this server alone.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `script-src 'sha256-${await sha256(PAGE_SCRIPT)}'`,
  `style-src 'sha256-${await sha256(PAGE_STYLE)}'`,
  "img-src 'self' blob: data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

function readAsset(name: string): string {
  return readFileSync(new URL(`./assets/${name}`, import.meta.url), 'utf8');
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Buffer.from(digest).toString('base64');
}
