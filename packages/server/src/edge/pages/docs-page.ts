import { defaultVersionOf } from '../front/model-summary.ts';
import type { EdgePorts } from '../route.ts';
import { errorTable } from './error-table.ts';
import { type Html, html } from './html.ts';
import { anchorOf, modelSection, stateBadge } from './model-section.ts';
import { pageShell } from './page-shell.ts';

const REFRESH_SECONDS = 2;

/** `/docs`: every model with its form, and the errors. */
export function docsPage(ports: EdgePorts): string {
  const catalogue = ports.inference.catalogue();
  const states = catalogue.map((entry) => defaultVersionOf(entry)?.state);
  const isWaiting = states.includes('loading') && !states.includes('ready');
  const links = catalogue.map(
    (entry) =>
      html`<li><a href="#${anchorOf(entry.model)}">${entry.model}</a>${stateBadge(defaultVersionOf(entry)?.state ?? 'unavailable')}</li>`,
  );
  const body = html`<div class="docs">
<aside><nav aria-label="Models"><h2>Models</h2><ul>${links}</ul><h2>Reference</h2><ul><li><a href="#protocols">Protocols</a></li><li><a href="#headers">Headers</a></li><li><a href="#errors">Errors</a></li></ul></nav></aside>
<main id="main"><h1>API and playground</h1>
${catalogue.length === 0 ? html`<p class="card">No model is here yet: put <code>name/1/model.onnx</code> into the models folder.</p>` : undefined}
${catalogue.map((entry) => modelSection(ports, entry))}
${protocols()}${headers()}
<section class="card" id="errors" aria-labelledby="errors-title"><header><h2 id="errors-title">Errors</h2></header>
<p>The native API answers with <code>application/problem+json</code>, V2 with <code>{"error": …}</code>; both carry the code and the request id.</p>${errorTable()}</section>
</main></div>`;
  return pageShell({
    title: `${ports.server.name} — docs`,
    server: ports.server,
    current: 'docs',
    body,
    // Once a form is there, a page that reloads itself would take away what somebody is typing.
    refreshSeconds: isWaiting ? REFRESH_SECONDS : undefined,
  });
}

/** `/docs/errors`: where the `type` of a problem document leads. */
export function errorsPage(ports: EdgePorts): string {
  const body = html`<main id="main" class="single"><h1>Errors</h1>
<p>What each code means, its status in each protocol, and whether asking again can help.</p>
<section class="card">${errorTable()}</section></main>`;
  return pageShell({
    title: `${ports.server.name} — errors`,
    server: ports.server,
    current: 'errors',
    body,
    refreshSeconds: undefined,
  });
}

function protocols(): Html {
  const rows = [
    ['Native', 'POST /v1/models/{model}/predict', 'Pictures, texts, rows in; classes, boxes, numbers out'],
    [
      'Open Inference Protocol V2',
      'POST /v2/models/{model}/infer',
      'Tensors in, tensors out, JSON or binary',
    ],
    ['Compatibility', 'POST /predict, /batch_predict, /infer', 'For clients of hand-written services'],
    ['Models', 'GET /v1/models, /v1/models/{model}', 'What is served, how it was understood'],
    ['Health', 'GET /livez, /readyz, /startupz', 'For probes and load balancers'],
  ] as const;
  return html`<section class="card" id="protocols" aria-labelledby="protocols-title"><header><h2 id="protocols-title">Protocols</h2></header><div class="scroll"><table><tbody>${rows.map(([name, path, about]) => html`<tr><th scope="row">${name}</th><td><code>${path}</code></td><td>${about}</td></tr>`)}</tbody></table></div>
<p><a href="/openapi.json">openapi.json</a> describes all of them for these very models.</p></section>`;
}

function headers(): Html {
  const rows = [
    ['X-Request-Id', 'Yours is kept when it is [A-Za-z0-9._-]{1,128}; always in the answer'],
    ['Inference-Timeout-Ms', 'Your budget; what can not make it is refused at once'],
    ['Inference-Criticality', 'critical, default or sheddable'],
    ['Inference-Version', 'A version, when the path names none'],
    ['Inference-Variant, Inference-Batch-Size, Inference-Degraded', 'In answers: who answered and how'],
    ['Server-Timing', 'In answers: milliseconds of each stage; browsers draw it'],
    ['Retry-After', 'With every 429 and 503'],
  ] as const;
  return html`<section class="card" id="headers" aria-labelledby="headers-title"><header><h2 id="headers-title">Headers</h2></header><div class="scroll"><table><tbody>${rows.map(([name, about]) => html`<tr><th scope="row"><code>${name}</code></th><td>${about}</td></tr>`)}</tbody></table></div></section>`;
}
