import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GimbalUnderTest, ROOT } from '../harness/gimbal.ts';
import { ModelFolder } from '../harness/models.ts';

const CHROMIUM = process.env.GIMBAL_CHROMIUM ?? '/usr/bin/chromium';
const SOURCES = join(ROOT, 'packages/client/src');
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const hasChromium = existsSync(CHROMIUM);
if (!hasChromium) {
  console.warn(
    `No browser at ${CHROMIUM}: the client is not tried in one (GIMBAL_CHROMIUM names another place)`,
  );
}

describe.skipIf(!hasChromium)('in a browser', () => {
  let models: ModelFolder;
  let server: GimbalUnderTest;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    models = new ModelFolder(['examples/efficientnet', 'examples/add-sub']);
    server = await GimbalUnderTest.start(models.path);
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
    page = await browser.newPage();
    // A page of the server's own origin; the client's sources as they are, without their types.
    await page.route(`${server.http}/page/**`, async (route) => {
      const path = new URL(route.request().url()).pathname.slice('/page/'.length);
      if (path === '')
        await route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>x</title>' });
      else if (path === 'cat.jpg') await route.fulfill({ path: join(ROOT, 'examples/inputs/cat.jpg') });
      else {
        const body = stripTypeScriptTypes(readFileSync(join(SOURCES, path), 'utf8'));
        await route.fulfill({ contentType: 'text/javascript', body });
      }
    });
    await page.goto(`${server.http}/page/`);
  });

  afterAll(async () => {
    await browser?.close();
    await server?.stop();
    models?.remove();
  });

  /** Runs the body of an async function in the page; it has `client` and the module `gimbal`. */
  async function inPage(body: string): Promise<unknown> {
    return await page.evaluate(`(async () => {
      const gimbal = await import('/page/index.ts');
      const client = new gimbal.Client({ baseUrl: location.origin });
      ${body}
    })()`);
  }

  it('a picture that the page has is named', async () => {
    const label = await inPage(`
      const picture = await (await fetch('/page/cat.jpg')).blob();
      const answer = await client.model('efficientnet').infer(picture);
      return answer.predictions[0].label;
    `);
    expect(['Egyptian cat', 'tabby', 'tiger cat']).toContain(label);
  });

  it('a picture drawn on a canvas and a stream go too', async () => {
    const seen = await inPage(`
      const canvas = Object.assign(document.createElement('canvas'), { width: 64, height: 64 });
      canvas.getContext('2d').fillRect(0, 0, 64, 64);
      const drawn = await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
      const file = await client.model('efficientnet').infer(drawn);
      const stream = await client.model('efficientnet').infer(drawn.stream());
      return [file.predictions.length, stream.predictions.length];
    `);
    expect(seen).toEqual([5, 5]);
  });

  it('tensors go in binary and come back as tensors', async () => {
    const sums = await inPage(`
      const ones = gimbal.tensor('INT32', [1, 16], new Int32Array(16).fill(20));
      const { outputs } = await client.model('add-sub').infer({ INPUT0: ones, INPUT1: ones });
      return [outputs.OUTPUT0.data.constructor.name, ...outputs.OUTPUT0.data];
    `);
    expect(sums).toEqual(['Int32Array', ...Array(16).fill(40)]);
  });

  it('errors are typed, and an abort is one', async () => {
    const seen = await inPage(`
      const unknown = await client.model('cats').infer('x').catch((error) => error);
      const abort = new AbortController();
      const call = client.model('efficientnet').infer(new Uint8Array(9), { signal: abort.signal });
      abort.abort();
      const aborted = await call.catch((error) => error);
      const dead = new gimbal.Client({ baseUrl: 'http://127.0.0.1:9', maxRetries: 0 });
      const gone = await dead.model('x').infer('x').catch((error) => error);
      return [unknown, aborted, gone].map(({ name, code }) => name + ' ' + code);
    `);
    expect(seen).toEqual([
      'NotFoundError MODEL_NOT_FOUND',
      'AbortError CANCELLED',
      'ConnectionError UNREACHABLE',
    ]);
  });
});
