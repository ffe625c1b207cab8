import { readdirSync, readFileSync } from 'node:fs';
import { ERROR_CODES } from '@gimbal/core';
import { describe, expect, it } from 'vitest';
import { FrontBench } from '../front/testing/front-bench.ts';
import { aFakeModel, anAddSubModel, aVersionSpec } from '../testing/fake-model.ts';
import { escapeHtml, html, jsonBlock } from './html.ts';
import { PAGE_SCRIPT, PAGE_STYLE } from './page-assets.ts';
import { pagesRoutes } from './pages-routes.ts';

const evil = `<img src=x onerror=alert(1)>"'&`;

function aBench(): FrontBench {
  return new FrontBench(
    [
      anAddSubModel(),
      aFakeModel({ spec: aVersionSpec({ model: 'eyes', task: 'image-classification', labels: [evil] }) }),
      aFakeModel({
        spec: aVersionSpec({
          model: evil,
          task: 'text-embedding',
          derivations: [{ field: 'task', value: evil, because: `</script>${evil}` }],
        }),
      }),
    ],
    pagesRoutes,
  );
}

function idsOf(page: string): string[] {
  return [...page.matchAll(/ id="([^"]*)"/g)].map((match) => match[1] ?? '');
}

describe('pages', () => {
  it.each(['/', '/docs', '/docs/errors'])('answer %s as one page that asks for nothing elsewhere', (url) => {
    const { text, answer } = aBench().start({ url });
    expect(answer?.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(text.startsWith('<!doctype html>')).toBe(true);
    expect(text).not.toMatch(/(src|href)="(https?:)?\/\//);
    expect(text).not.toMatch(/@import|url\(/);
    expect(text).not.toMatch(/ style="| on[a-z]+="/);
  });

  it('allow exactly their own style and script', async () => {
    const { text, answer } = aBench().start({ url: '/docs' });
    const policy = answer?.headers.get('content-security-policy') ?? '';
    for (const [directive, content] of [
      ['script-src', PAGE_SCRIPT],
      ['style-src', PAGE_STYLE],
    ] as const) {
      const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(content));
      expect(policy).toContain(`${directive} 'sha256-${Buffer.from(digest).toString('base64')}'`);
      expect(text).toContain(content);
    }
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
  });

  it('hold every asset of the folder', () => {
    const folder = new URL('./assets/', import.meta.url);
    for (const name of readdirSync(folder)) {
      const text = readFileSync(new URL(name, folder), 'utf8');
      expect([name, (name.endsWith('.css') ? PAGE_STYLE : PAGE_SCRIPT).includes(text)]).toEqual([name, true]);
    }
  });

  it.each(['/', '/docs'])('escape what comes from models on %s', (url) => {
    const { text } = aBench().start({ url });
    expect(text).not.toContain('<img');
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;');
    // The page's own script and the data of each form; nothing ends one early.
    const opened = text.match(/<script/g)?.length;
    expect(text.match(/<\/script>/g)?.length).toBe(opened);
  });

  it('have a form for each ready model and link every fragment to an element', () => {
    const bench = aBench();
    const { text } = bench.start({ url: '/docs' });
    expect(text.match(/<form/g)).toHaveLength(3);
    const ids = idsOf(text);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, target] of text.matchAll(/ (?:href="#|for=")([^"]+)"/g)) expect(ids).toContain(target);
    const [version] = bench.inference.versions;
    if (version) {
      version.state = 'unavailable';
      version.reason = 'the file is broken';
    }
    const changed = bench.start({ url: '/docs' }).text;
    expect(changed.match(/<form/g)).toHaveLength(2);
    expect(changed).toContain('the file is broken');
  });

  it.each(['/docs', '/docs/errors'])('list exactly the codes of the registry on %s', (url) => {
    const { text } = aBench().start({ url });
    const codes = [...text.matchAll(/<tr id="([A-Z_]+)">/g)].map((match) => match[1]);
    expect(new Set(codes)).toEqual(new Set(ERROR_CODES));
    expect(codes).toHaveLength(ERROR_CODES.length);
  });

  it('say how far loading has come, and look again by themselves until then', () => {
    const bench = aBench();
    expect(bench.start({ url: '/' }).text).toContain('3 models are ready');
    const [version] = bench.inference.versions;
    if (version) version.state = 'loading';
    const { text } = bench.start({ url: '/' });
    expect(text).toContain('2 of 3 models are ready');
    expect(text).toContain('http-equiv="refresh"');
    for (const one of bench.inference.versions) one.state = 'loading';
    expect(bench.start({ url: '/docs' }).text).toContain('http-equiv="refresh"');
  });
});

describe('the start page', () => {
  it('has commands for pictures and texts before those for numbers', () => {
    const { text } = aBench().start({ url: '/' });
    const commands = [...text.matchAll(/\/v1\/models\/([^/]+)\/predict/g)].map((match) => match[1] ?? '');
    expect([commands[0], commands.at(-1)]).toEqual(['eyes', 'add-sub']);
  });
});

/** Calls of a canvas, in their order. */
interface Drawn {
  readonly call: string;
  readonly values: readonly unknown[];
}

/** What the page's own script draws for predictions on a canvas of 400 pixels. */
function drawn(predictions: readonly object[]): Drawn[] {
  const calls: Drawn[] = [];
  const context = new Proxy({} as Record<string, unknown>, {
    get:
      (_, call: string) =>
      (...values: unknown[]) => {
        calls.push({ call, values });
        return { width: 10 };
      },
  });
  const source = readFileSync(new URL('./assets/answer-view.js', import.meta.url), 'utf8');
  const view = new Function(`${source}; return answerView;`)() as {
    drawBoxes(canvas: object, list: readonly object[]): void;
  };
  view.drawBoxes({ width: 400, height: 400, getContext: () => context }, predictions);
  return calls;
}

describe('boxes over a picture', () => {
  const face = { label: 'face', confidence: 0.93, bbox: [10, 20, 50, 60] };

  it('have their label and its percents, which are never 0 for what is more', () => {
    for (const [confidence, text] of [
      [0.93, 'face 93 %'],
      [0.004, 'face 0.4 %'],
      [0.00002, 'face 0.002 %'],
      [1e-9, 'face < 0.0001 %'],
    ] as const) {
      const texts = drawn([{ ...face, confidence }]).filter(({ call }) => call === 'fillText');
      expect(texts.map(({ values }) => values[0])).toEqual([text]);
    }
  });

  it('have a dot for each landmark', () => {
    const dots = drawn([{ ...face, landmarks: [20, 30, 40, 31] }, face]).filter(({ call }) => call === 'arc');
    expect(dots.map(({ values }) => values.slice(0, 2))).toEqual([
      [20, 30],
      [40, 31],
    ]);
  });
});

describe('html', () => {
  it('escapes values and keeps markup', () => {
    expect(html`<b>${'<&>'}</b>${[html`<i>${1}</i>`, undefined]}`.markup).toBe(
      '<b>&lt;&amp;&gt;</b><i>1</i>',
    );
    expect(escapeHtml(`"'`)).toBe('&quot;&#39;');
    expect(jsonBlock({ a: '</script>' }).markup).toBe('{"a":"\\u003c/script>"}');
  });
});
