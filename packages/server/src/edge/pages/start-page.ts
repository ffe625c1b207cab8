import type { CatalogueEntry, CostProfile, Task } from '@gimbal/core';
import { examplesOf } from '../front/model-example.ts';
import { defaultVersionOf } from '../front/model-summary.ts';
import type { EdgePorts } from '../route.ts';
import { type Html, html } from './html.ts';
import { anchorOf, predictPath, stateBadge } from './model-section.ts';
import { GIMBAL_MARK, pageShell } from './page-shell.ts';

/** Commands that the page shows. */
const SHOWN_COMMANDS = 3;

/** Pictures and texts say most at first sight. */
const TASK_ORDER: readonly Task[] = [
  'image-classification',
  'object-detection',
  'text-embedding',
  'text-classification',
  'tabular',
  'tensor',
];

const REFRESH_SECONDS = 2;

/** `/`: what is served, and the first commands to try. */
export function startPage(ports: EdgePorts): string {
  const catalogue = ports.inference.catalogue();
  const ready = catalogue.filter((entry) => defaultVersionOf(entry)?.state === 'ready');
  const isLoading = catalogue.some((entry) => defaultVersionOf(entry)?.state === 'loading');
  const body = html`<main id="main" class="start">
<section class="hero">${GIMBAL_MARK}<div><h1>${headline(ready.length, catalogue.length)}</h1>
<p>Batched, in supervised processes, over HTTP. Drop a picture or type a text in the <a href="/docs">playground</a>.</p></div></section>
<ul class="grid">${catalogue.map(modelCard)}</ul>
${commands(ready)}
</main>`;
  return pageShell({
    title: ports.server.name,
    server: ports.server,
    current: 'start',
    body,
    refreshSeconds: isLoading ? REFRESH_SECONDS : undefined,
  });
}

function headline(ready: number, all: number): string {
  if (all === 0) return 'Level and waiting for models';
  if (ready === all) return all === 1 ? 'One model is ready' : `${all} models are ready`;
  return `${ready} of ${all} models are ready`;
}

function modelCard(entry: CatalogueEntry): Html {
  const version = defaultVersionOf(entry);
  const reason = version?.reason ?? entry.failures.at(-1)?.reason;
  const names = version?.variants.map(({ name }) => name) ?? [];
  return html`<li><a class="card tile" href="/docs#${anchorOf(entry.model)}"><header><h2>${entry.model}</h2>${stateBadge(version?.state ?? 'unavailable')}</header>
<p>${version?.spec.task ?? 'not loaded'}${names.length > 1 ? `, a ladder of ${names.length} variants` : ''}</p>
${reason === undefined ? undefined : html`<p class="reason">${reason}</p>`}
${version?.profile ? html`<p class="hint">${oneInputMs(version.profile)} ms for one input</p>` : undefined}</a></li>`;
}

/** What was measured for one row, where it was; the fit is for what was not. */
function oneInputMs({ points, fixedMs, perRowMs }: CostProfile): number {
  const measured = points.find(({ rows }) => rows === 1)?.medianMs ?? fixedMs + perRowMs;
  return Number(measured.toPrecision(2));
}

function commands(ready: readonly CatalogueEntry[]): Html | undefined {
  const specs = ready.flatMap((entry) => defaultVersionOf(entry)?.spec ?? []);
  const shown = specs
    .toSorted((left, right) => TASK_ORDER.indexOf(left.task) - TASK_ORDER.indexOf(right.task))
    .slice(0, SHOWN_COMMANDS)
    .flatMap((spec) => {
      const example = examplesOf(spec)[0];
      return example ? [{ model: spec.model, curlArguments: example.curlArguments }] : [];
    });
  if (shown.length === 0) return undefined;
  return html`<section class="card"><header><h2>First commands</h2></header>${shown.map(
    ({ model, curlArguments }) =>
      html`<pre><code>curl <span data-origin>http://localhost:8000</span>${predictPath(model)} ${curlArguments}</code></pre>`,
  )}</section>`;
}
