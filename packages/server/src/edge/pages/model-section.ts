import type { CatalogueEntry, VersionSpec, VersionView } from '@gimbal/core';
import { takesImages, takesTexts } from '../front/accepted-types.ts';
import { exampleInput, examplesOf, isShowable } from '../front/model-example.ts';
import {
  defaultVersionOf,
  detailModel,
  type ModelDetail,
  type TensorSummary,
} from '../front/model-summary.ts';
import type { EdgePorts } from '../route.ts';
import { type Html, html, jsonBlock } from './html.ts';

/** What the page's script must know of a model. */
interface TryIt {
  readonly model: string;
  readonly url: string;
  readonly kind: 'image' | 'text' | 'json';
  readonly task: string;
  readonly example: string;
}

/** Everything about one model: what it takes and gives, how it was understood, and a form to ask it. */
export function modelSection(ports: EdgePorts, entry: CatalogueEntry): Html {
  const detail = detailModel(entry, ports.limits);
  const version = defaultVersionOf(entry);
  return html`<section class="card model" id="${anchorOf(entry.model)}" aria-labelledby="${anchorOf(entry.model)}-title">
<header><h2 id="${anchorOf(entry.model)}-title">${entry.model}</h2>${stateBadge(detail.state)}<span class="chip">${detail.task ?? 'unknown task'}</span>${detail.versions.map(({ version: name }) => html`<span class="chip quiet">version ${name}</span>`)}</header>
${failures(detail)}
${
  version
    ? html`${version.state === 'ready' ? tryIt(version.spec) : undefined}
${signature(detail, version.spec)}
${versionFacts(detail, version)}
${examples(version.spec)}
${derivations(detail)}`
    : undefined
}
</section>
`;
}

export function stateBadge(state: string): Html {
  return html`<span class="state ${state}">${state}</span>`;
}

export function anchorOf(model: string): string {
  return `model-${encodeURIComponent(model)}`;
}

/** The path that predicts with a model. */
export function predictPath(model: string): string {
  return `/v1/models/${encodeURIComponent(model)}/predict`;
}

function tryIt(spec: VersionSpec): Html {
  const kind = kindOf(spec);
  const data: TryIt = {
    model: spec.model,
    url: predictPath(spec.model),
    kind,
    task: spec.task,
    example: kind === 'json' ? jsonText(spec) : '',
  };
  const id = anchorOf(spec.model);
  return html`<form class="try" data-try novalidate>
<script type="application/json">${jsonBlock(data)}</script>
<div class="ask">${inputOf(kind, id, data.example)}
<div class="row">${parametersOf(spec, id)}<button type="submit">Ask ${spec.model}</button></div></div>
<div class="answer" aria-live="polite"><p class="hint">${kind === 'image' ? 'Drop a picture on the left, paste one, or choose a file.' : 'The answer comes here.'}</p></div>
<div class="code"><div class="row" role="group" aria-label="Copy as code"><span>Copy as</span><button type="button" class="quiet" data-copy="curl">curl</button><button type="button" class="quiet" data-copy="typescript">TypeScript</button><button type="button" class="quiet" data-copy="python">Python</button><output></output></div></div>
</form>`;
}

function inputOf(kind: TryIt['kind'], id: string, example: string): Html {
  switch (kind) {
    case 'image':
      return html`<label class="drop" for="${id}-file"><input id="${id}-file" type="file" accept="image/*"><canvas width="0" height="0" hidden></canvas><span class="hint"><b>Drop a picture here</b><br>or choose a file</span></label>`;
    case 'text':
      return html`<label for="${id}-text">Text</label><textarea id="${id}-text" rows="4">The cat sits on the mat.</textarea>`;
    case 'json':
      return html`<label for="${id}-json">JSON body</label><textarea id="${id}-json" rows="9" spellcheck="false" class="mono">${example}</textarea>`;
  }
}

function parametersOf({ task, labels }: VersionSpec, id: string): Html | undefined {
  const threshold = html`<label class="small" for="${id}-threshold">threshold</label><input id="${id}-threshold" name="threshold" type="number" min="0" max="1" step="0.05" placeholder="0">`;
  if (task === 'object-detection') return threshold;
  if (task === 'image-classification' || task === 'text-classification' || (task === 'tabular' && labels)) {
    return html`<label class="small" for="${id}-top">top_k</label><input id="${id}-top" name="top_k" type="number" min="1" max="1000" step="1" placeholder="5">${threshold}`;
  }
  return undefined;
}

function signature(detail: ModelDetail, { signature: { batchAxis } }: VersionSpec): Html {
  const rows = (tensors: readonly TensorSummary[], direction: string): Html[] =>
    tensors.map(
      ({ name, datatype, shape }) =>
        html`<tr><td>${direction}</td><th scope="row"><code>${name}</code></th><td>${datatype}</td><td><code>[${shape.map(String).join(', ')}]</code></td></tr>`,
    );
  return html`<details><summary>Signature</summary><div class="scroll"><table>
<thead><tr><th scope="col"></th><th scope="col">Name</th><th scope="col">Datatype</th><th scope="col">Shape</th></tr></thead>
<tbody>${rows(detail.inputs, 'in')}${rows(detail.outputs, 'out')}</tbody></table></div>
<p class="hint">${batchAxis === 'dynamic' ? 'Axis 0 is the batch axis: one item comes without it.' : 'No batch axis: each request runs alone, its shape as given.'} −1 is any length.</p></details>`;
}

function versionFacts({ limits, profile, labels, digest }: ModelDetail, version: VersionView): Html {
  const facts: [string, Html | string][] = [
    ['Variants', version.variants.map(({ name, state }) => `${name} (${state})`).join(', ')],
    ['Digest', html`<code>${digest?.slice(0, 16) ?? ''}…</code>`],
  ];
  if (labels)
    facts.push([
      'Labels',
      `${labels.count}: ${labels.first.join(', ')}${labels.count > labels.first.length ? ', …' : ''}`,
    ]);
  if (limits) {
    facts.push(['Most rows in a run', String(limits.max_rows)]);
    facts.push(['Deadline when none is asked for', `${limits.deadline_ms} ms`]);
    facts.push(['Inputs in one request', `at most ${limits.max_inputs}`]);
  }
  if (profile) {
    facts.push([
      'Measured at load',
      `${profile.fixed_ms} ms + ${profile.per_row_ms} ms a row; best with ${profile.best_rows} in a run`,
    ]);
  }
  return html`<details><summary>Limits and profile</summary><dl>${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>${profile ? profileChart(profile.points) : undefined}</details>`;
}

/** Milliseconds for each row at each measured batch size. */
function profileChart(
  points: readonly { readonly rows: number; readonly median_ms: number }[],
): Html | undefined {
  const most = Math.max(...points.map(({ rows, median_ms }) => median_ms / rows));
  if (points.length < 2 || !(most > 0)) return undefined;
  return html`<table class="bars"><caption>Milliseconds a row, by rows in a run</caption><tbody>${points.map(
    ({ rows, median_ms }) => {
      const perRow = median_ms / rows;
      return html`<tr><th scope="row">${rows}</th><td><meter min="0" max="${most.toFixed(4)}" value="${perRow.toFixed(4)}"></meter></td><td>${perRow.toFixed(3)}</td></tr>`;
    },
  )}</tbody></table>`;
}

function examples(spec: VersionSpec): Html {
  return html`<details><summary>From the command line</summary>${examplesOf(spec).map(
    ({ title, curlArguments }) =>
      html`<h4>${title}</h4><pre><code>curl <span data-origin>http://localhost:8000</span>${predictPath(spec.model)} ${curlArguments}</code></pre>`,
  )}</details>`;
}

function derivations({ derivations: all }: ModelDetail): Html | undefined {
  if (all.length === 0) return undefined;
  return html`<details><summary>What was derived, and why</summary><div class="scroll"><table>
<thead><tr><th scope="col">Field</th><th scope="col">Value</th><th scope="col">Because</th></tr></thead>
<tbody>${all.map(({ field, value, because }) => html`<tr><th scope="row"><code>${field}</code></th><td>${value}</td><td>${because}</td></tr>`)}</tbody></table></div></details>`;
}

function failures({ failures: all, versions }: ModelDetail): Html | undefined {
  const reasons = [
    ...versions.flatMap(({ version, reason }) => (reason === null ? [] : [{ version, reason }])),
    ...all,
  ];
  if (reasons.length === 0) return undefined;
  return html`<ul class="failures">${reasons.map(({ version, reason }) => html`<li><b>version ${version}</b>: ${reason}</li>`)}</ul>`;
}

function kindOf({ task }: VersionSpec): TryIt['kind'] {
  if (takesImages(task)) return 'image';
  return takesTexts(task) ? 'text' : 'json';
}

/** The example body, or a start for one when it would be long. */
function jsonText(spec: VersionSpec): string {
  const batches = spec.signature.batchAxis === 'dynamic';
  const isShort = spec.signature.inputs.every((input) => isShowable(input, batches));
  return isShort ? JSON.stringify({ input: exampleInput(spec) }) : '{"input": []}';
}
