import { CatalogueDocument } from '../front/catalogue-key.ts';
import { answerDocument, readingRoute } from '../front/simple-answers.ts';
import type { EdgePorts, Route } from '../route.ts';
import { openApiDocument } from './document.ts';

/** `GET /openapi.json`, made anew when the catalogue has changed. */
export function openApiRoutes(ports: EdgePorts): Route[] {
  const document = new CatalogueDocument(() => JSON.stringify(openApiDocument(ports), undefined, 1));
  return [
    readingRoute('/openapi.json', (request) => {
      const { body, etag } = document.read(ports.inference.catalogue());
      answerDocument(request, { contentType: 'application/json', body, etag });
    }),
  ];
}
