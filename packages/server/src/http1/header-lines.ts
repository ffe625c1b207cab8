import type { Clock, Instant } from '@gimbal/core';
import type { HeaderLines } from './exchange.ts';

const SECOND_MS = 1000;

/** Reason phrases (RFC 9110, 15, and the status registry). Clients ignore them; people read them. */
const REASONS: Readonly<Record<number, string>> = {
  100: 'Continue',
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  206: 'Partial Content',
  301: 'Moved Permanently',
  302: 'Found',
  303: 'See Other',
  304: 'Not Modified',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  411: 'Length Required',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  416: 'Range Not Satisfiable',
  417: 'Expectation Failed',
  422: 'Unprocessable Content',
  425: 'Too Early',
  428: 'Precondition Required',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  499: 'Client Closed Request',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
};

const STATUS_LINES = new Map(
  Object.entries(REASONS).map(([status, reason]) => [Number(status), `HTTP/1.1 ${status} ${reason}\r\n`]),
);

/** `HTTP/1.1 200 OK` and the end of the line. */
export function statusLine(status: number): string {
  return STATUS_LINES.get(status) ?? `HTTP/1.1 ${status} Unknown\r\n`;
}

/** The Date line, made anew when the wall clock's second changes. */
export class DateLine {
  readonly #clock: Clock;
  #line = '';
  #freshUntil: Instant = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  at(now: Instant): HeaderLines {
    if (now >= this.#freshUntil) {
      const wallTimeMs = this.#clock.wallTimeMs();
      this.#line = `Date: ${new Date(wallTimeMs).toUTCString()}\r\n`;
      this.#freshUntil = now + SECOND_MS - (wallTimeMs % SECOND_MS);
    }
    return this.#line;
  }
}
