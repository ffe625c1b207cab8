import { CatalogueDocument } from '../front/catalogue-key.ts';
import { headerLine } from '../front/header-line.ts';
import { answerDocument, readingRoute } from '../front/simple-answers.ts';
import type { EdgePorts, Route } from '../route.ts';
import { docsPage, errorsPage } from './docs-page.ts';
import { CONTENT_SECURITY_POLICY } from './page-assets.ts';
import { startPage } from './start-page.ts';

const HEADERS =
  headerLine('Content-Security-Policy', CONTENT_SECURITY_POLICY) +
  headerLine('X-Content-Type-Options', 'nosniff') +
  headerLine('Referrer-Policy', 'no-referrer');

/** `/`, `/docs` and `/docs/errors`: whole pages that need nothing from elsewhere. */
export function pagesRoutes(ports: EdgePorts): Route[] {
  return [
    page(ports, '/', () => startPage(ports)),
    page(ports, '/docs', () => docsPage(ports)),
    page(ports, '/docs/errors', () => errorsPage(ports)),
  ];
}

/** A page is made anew only when what is served has changed. */
function page(ports: EdgePorts, pattern: string, make: () => string): Route {
  const document = new CatalogueDocument(make);
  return readingRoute(pattern, (request) => {
    const { body, etag } = document.read(ports.inference.catalogue());
    answerDocument(request, { contentType: 'text/html; charset=utf-8', body, etag, headers: HEADERS });
  });
}
