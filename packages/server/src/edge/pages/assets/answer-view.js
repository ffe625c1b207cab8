// Shows an answer: classes as bars, an embedding as a line, outputs as numbers, boxes over the picture.
const STAGES = ['queue', 'batch', 'preprocess', 'infer', 'postprocess'];
const SVG = 'http://www.w3.org/2000/svg';
const MAX_BARS = 20;

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function drawn(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function bars(rows, caption) {
  const most = Math.max(...rows.map(([, value]) => Math.abs(value)), 1e-12);
  const body = element('tbody', {});
  for (const [name, value] of rows.slice(0, MAX_BARS)) {
    const meter = element('meter', { min: 0, max: Math.max(most, most <= 1 ? 1 : most), value: Math.abs(value) });
    body.append(
      element(
        'tr',
        {},
        element('th', { scope: 'row' }, name),
        element('td', {}, meter),
        element('td', {}, Number.isInteger(value) ? String(value) : Number(value).toPrecision(3)),
      ),
    );
  }
  return element('table', { className: 'bars' }, element('caption', {}, caption), body);
}

function spark(values) {
  const most = Math.max(...values.map(Math.abs), 1e-12);
  const svg = drawn('svg', {
    viewBox: `0 0 ${values.length} 100`,
    preserveAspectRatio: 'none',
    class: 'spark',
    role: 'img',
    'aria-label': `${values.length} numbers`,
  });
  values.forEach((value, index) => {
    const height = (Math.abs(value) / most) * 50;
    const y = value >= 0 ? 50 - height : 50;
    svg.append(drawn('rect', { x: index, y, width: 0.8, height, class: value >= 0 ? 's3' : 's1' }));
  });
  return svg;
}

function predictions(list) {
  if (list.length === 0) return [element('p', { className: 'big' }, 'Nothing found')];
  const rows = list.map((one) => [one.label ?? `class ${one.class_id}`, one.confidence]);
  const [best] = rows;
  const title = list[0].bbox ? `${list.length} found` : best[0];
  return [element('p', { className: 'big' }, title), bars(rows, 'confidence')];
}

function embedding(values) {
  const norm = Math.hypot(...values);
  const shown = values.slice(0, 8).map((value) => value.toFixed(4));
  return [
    element('p', { className: 'big' }, `${values.length} numbers, length ${norm.toFixed(3)}`),
    spark(values),
    element('p', { className: 'hint' }, `[${shown.join(', ')}${values.length > 8 ? ', …' : ''}]`),
  ];
}

function outputs(members) {
  const pieces = [];
  for (const [name, value] of Object.entries(members)) {
    const flat = [value].flat(Number.POSITIVE_INFINITY);
    const isRow = flat.length > 1 && flat.length <= MAX_BARS && flat.every((one) => typeof one === 'number');
    if (isRow) pieces.push(bars(flat.map((one, index) => [String(index), one]), name));
    else {
      const text = JSON.stringify(value);
      pieces.push(element('p', { className: 'big' }, `${name}: ${text.length > 200 ? `${text.slice(0, 200)}…` : text}`));
    }
  }
  return pieces;
}

function timings(all) {
  const svg = drawn('svg', { viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  const legend = element('div', { className: 'legend' });
  const total = Math.max(all.total, 1e-6);
  let from = 0;
  STAGES.forEach((stage, index) => {
    const width = (all[stage] / total) * 100;
    svg.append(drawn('rect', { x: from, y: 0, width, height: 10, class: `s${index}` }));
    from += width;
    legend.append(element('span', {}, element('i', { className: `s${index}` }), `${stage} ${all[stage]} ms`));
  });
  legend.append(element('b', {}, `total ${all.total} ms`));
  return [element('div', { className: 'timing' }, svg), legend];
}

function raw(json) {
  return element(
    'details',
    {},
    element('summary', {}, 'JSON'),
    element('pre', {}, element('code', {}, JSON.stringify(json, undefined, 1))),
  );
}

function success(json) {
  const list = json.results ?? [json];
  const pieces = [];
  for (const one of list) {
    if (one.error) pieces.push(element('p', { className: 'error' }, one.error.detail));
    if (one.predictions) pieces.push(...predictions(one.predictions));
    if (one.embedding) pieces.push(...embedding(one.embedding));
    if (one.outputs && !one.predictions) pieces.push(...outputs(one.outputs));
  }
  pieces.push(
    element('p', { className: 'hint' }, `version ${json.version}, variant ${json.variant}${json.degraded ? ', degraded' : ''}`),
  );
  if (json.timings_ms) pieces.push(...timings(json.timings_ms));
  return pieces;
}

function failure(json) {
  const pieces = [
    element('p', { className: 'big error' }, `${json.status ?? ''} ${json.title ?? 'The request failed'}`),
    element('p', {}, json.detail ?? ''),
  ];
  for (const field of json.errors ?? []) {
    const hint = field.hint ? ` — ${field.hint}` : '';
    pieces.push(
      element('p', { className: 'hint' }, `${field.pointer || 'body'}: expected ${field.expected}, got ${field.received}${hint}`),
    );
  }
  return pieces;
}

/** Whole percents, and as many decimals as something small needs to be more than 0. */
function percent(ratio) {
  const value = ratio * 100;
  if (value >= 1 || value === 0) return `${value.toFixed(0)} %`;
  return value < 0.0001 ? '< 0.0001 %' : `${Number(value.toPrecision(1))} %`;
}

/** Eyes, nose and the like, [x, y, x, y, …], as ringed dots. */
function drawPoints(context, points, unit) {
  for (let index = 0; index + 1 < points.length; index += 2) {
    context.beginPath();
    context.arc(points[index], points[index + 1], 2.5 * unit, 0, 2 * Math.PI);
    context.fillStyle = '#ffffff';
    context.fill();
    context.stroke();
  }
}

/** Boxes and points in picture pixels over the picture on a canvas. */
function drawBoxes(canvas, list) {
  const context = canvas.getContext('2d');
  const unit = Math.max(canvas.width, canvas.height) / 400;
  context.lineWidth = 2 * unit;
  context.font = `600 ${13 * unit}px system-ui, sans-serif`;
  for (const { bbox, label, confidence, landmarks = [] } of list) {
    if (!bbox) continue;
    const [left, top, right, bottom] = bbox;
    const text = `${label ?? ''} ${percent(confidence)}`;
    context.strokeStyle = '#ffc857';
    context.strokeRect(left, top, right - left, bottom - top);
    drawPoints(context, landmarks, unit);
    const width = context.measureText(text).width + 8 * unit;
    context.fillStyle = '#ffc857';
    context.fillRect(left, Math.max(0, top - 18 * unit), width, 18 * unit);
    context.fillStyle = '#14202b';
    context.fillText(text, left + 4 * unit, Math.max(0, top - 18 * unit) + 13.5 * unit);
  }
}

const answerView = {
  show(target, isOk, json) {
    target.replaceChildren(...(isOk ? success(json) : failure(json)), raw(json));
  },
  say(target, text) {
    target.replaceChildren(element('p', { className: 'hint' }, text));
  },
  drawBoxes,
};
