import { ERROR_CODES, type ErrorCode, errorRow, type RetryAdvice } from '@gimbal/core';
import { statusOf } from '../front/errors.ts';
import { type Html, html } from './html.ts';

const ADVICE: Readonly<Record<RetryAdvice, string>> = {
  never: 'no: the same request fails the same way',
  'after-delay': 'yes, after Retry-After',
  elsewhere: 'yes, at once, best at another replica',
  'smaller-batch': 'yes, with fewer inputs at a time',
};

/** All codes of the registry, each row the target of the `type` of its problem documents. */
export function errorTable(): Html {
  return html`<div class="scroll"><table class="errors">
<thead><tr><th scope="col">Code</th><th scope="col">HTTP</th><th scope="col">V2</th><th scope="col">gRPC</th><th scope="col">Meaning</th><th scope="col">Ask again?</th></tr></thead>
<tbody>${ERROR_CODES.map(errorRowMarkup)}</tbody></table></div>`;
}

function errorRowMarkup(code: ErrorCode): Html {
  const { grpc, http, retry, title } = errorRow(code);
  const sent = code === 'CANCELLED' ? `${http} (in logs only)` : String(http);
  return html`<tr id="${code}"><th scope="row"><code>${code}</code></th><td>${sent}</td><td>${statusOf(code, 'v2')}</td><td>${grpc}</td><td>${title}</td><td>${ADVICE[retry]}</td></tr>
`;
}
