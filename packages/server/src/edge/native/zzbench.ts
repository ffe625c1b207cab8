import { SeededRandom } from '@gimbal/core';
import { Router } from '../front/router.ts';
import { predictRoutes } from './predict-routes.ts';
import { aFakeModel, aVersionSpec, aSignature, aTensorSpec } from '../testing/fake-model.ts';
const spec = aVersionSpec({ model: 'digits', task: 'tabular', signature: aSignature({ inputs: [aTensorSpec('X', 'FP32', [-1, 64])] }) });
const view: any = { spec, state: 'ready', maxRows: 8 };
const arena = new Uint8Array(4096);
const json = Buffer.from('"outputs":{"label":[7],"probabilities":[[0.0123,0.0001,0.5,0.1,0.2,0.3,0.4,0.5,0.6,0.7]]}');
let settle: any;
const result: any = { ok: true, variant: 'default', rung: 0, batchRows: 4, parts: [{ kind: 'answer', json }], timings: { queueMs: 0.51, batchMs: 0.2, preprocessMs: 0, inferMs: 0.07, postprocessMs: 0.01 } };
const ports: any = {
  inference: { resolve: () => view, open: () => ({ reserve: (n: number) => ({ span: { offset: 0, byteLength: n }, bytes: arena.subarray(0, n) }), release() {}, submit(_w: any, cb: any) { settle = cb; }, close() {} }) },
  clock: { now: () => performance.now(), wallTimeMs: () => performance.timeOrigin + performance.now() }, random: { next: () => Math.random() },
  observer: { finished(_r: any) {} }, limits: { maxBodyBytes: 1 << 26, maxInputs: 256, maxJsonDepth: 100 }, server: { name: 'g', version: '1' }, defaultModel: undefined,
};
const router = new Router(predictRoutes(ports), ports);
const body = Buffer.from(JSON.stringify({ input: Array.from({ length: 64 }, (_, i) => (i * 7) % 17) }));
const headers = new Map([['content-type', 'application/json'], ['host', 'x']]);
let sink = 0;
function one() {
  const exchange: any = {
    head: { method: 'POST', path: '/v1/models/digits/predict', query: '', contentLength: body.length, header: (n: string) => headers.get(n) },
    receivedAt: performance.now(), closed: false, readBody(_l: any, cb: any) { cb(body); }, onAbort() {}, respond(_s: any, h: string, b: any, f: any) { sink += h.length; for (const p of b) sink += p.length; f?.(); },
  };
  router.listener(exchange); settle(result);
}
for (let r = 0; r < 6; r++) { const t = performance.now(); const n = 100000; for (let i = 0; i < n; i++) one(); console.log(((performance.now() - t) / n * 1000).toFixed(2), 'us'); }
