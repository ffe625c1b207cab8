import type { Answer, EdgeRequest, Route } from '../route.ts';
import { headerLine } from './header-line.ts';

/** Answers that hold no inference: reports, pages, documents. */

export function answerJson(request: EdgeRequest, body: unknown, status = 200): void {
  request.reply.send({ status, contentType: 'application/json', body: JSON.stringify(body) });
}

/** A route that only reads. */
export function readingRoute(pattern: string, run: (request: EdgeRequest) => void): Route {
  return { method: 'GET', pattern, protocol: 'native', errors: 'problem', run };
}

/** A document that is rarely new: answered with an ETag, and with 304 to those who have it. */
export function answerDocument(
  request: EdgeRequest,
  document: {
    readonly contentType: string;
    readonly body: string;
    readonly etag: string;
    readonly headers?: string;
  },
): void {
  const headers = `${headerLine('ETag', document.etag)}Cache-Control: no-cache\r\n${document.headers ?? ''}`;
  if (request.exchange.head.header('if-none-match') === document.etag) {
    request.reply.send({ status: 304, contentType: undefined, body: '', headers });
    return;
  }
  const answer: Answer = { status: 200, contentType: document.contentType, body: document.body, headers };
  request.reply.send(answer);
}
