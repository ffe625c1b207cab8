import { type Html, html, trusted } from './html.ts';
import { PAGE_SCRIPT, PAGE_STYLE } from './page-assets.ts';

export interface PageParts {
  readonly title: string;
  readonly server: { readonly name: string; readonly version: string };
  readonly current: 'start' | 'docs' | 'errors';
  readonly body: Html;
  /** Seconds after which the page is asked for again, while models are loading. */
  readonly refreshSeconds: number | undefined;
}

/** Three rings around a level core: a gimbal. */
const MARK = trusted(
  `<svg class="mark" viewBox="0 0 48 48" aria-hidden="true"><circle cx="24" cy="24" r="21"/><g transform="rotate(-28 24 24)"><ellipse cx="24" cy="24" rx="21" ry="8"/><ellipse cx="24" cy="24" rx="8" ry="21"/></g><circle class="core" cx="24" cy="24" r="4.5"/></svg>`,
);

/** A whole page. */
export function pageShell({ title, server, current, body, refreshSeconds }: PageParts): string {
  const link = (key: PageParts['current'], href: string, text: string): Html =>
    html`<a href="${href}"${trusted(key === current ? ' aria-current="page"' : '')}>${text}</a>`;
  const refresh =
    refreshSeconds === undefined ? undefined : html`<meta http-equiv="refresh" content="${refreshSeconds}">`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${refresh}
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${trusted(PAGE_STYLE)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<a class="brand" href="/">${MARK}<span>${server.name}</span><small>${server.version}</small></a>
<nav aria-label="Pages">${link('start', '/', 'Start')}${link('docs', '/docs', 'Docs')}${link('errors', '/docs/errors', 'Errors')}<a href="/openapi.json">OpenAPI</a><a href="/readyz">Health</a></nav>
<button type="button" class="quiet" id="theme" aria-label="Switch between light and dark">◐</button>
</header>
${body}
<script type="module">${trusted(PAGE_SCRIPT)}</script>
</body>
</html>
`.markup;
}

export { MARK as GIMBAL_MARK };
