import type { TensorSpec } from '@gimbal/core';
import { expect } from 'vitest';
import { FrontBench } from '../../front/testing/front-bench.ts';
import type { FakeExchange, FakeRequest } from '../../testing/fake-exchange.ts';
import { anAddSubModel, anEchoModel, aTensorSpec } from '../../testing/fake-model.ts';
import { v2ProtocolRoutes } from '../v2-routes.ts';

export const LENGTH = 'inference-header-content-length';
export const FLOATS = [aTensorSpec('X', 'FP32', [-1, 2])];
export const ROW = { name: 'X', datatype: 'FP32', shape: [1, 2], data: [1, 2] };

export const BINARY_ROW = { name: 'X', datatype: 'FP32', shape: [1, 2], parameters: { binary_data_size: 8 } };
/** An answer's JSON. */
export interface InferJson {
  readonly id?: string;
  readonly outputs: readonly {
    name: string;
    datatype: string;
    shape: readonly number[];
    data?: readonly unknown[];
    parameters?: Record<string, unknown>;
  }[];
}

/** The whole protocol over an echo and `add-sub`. */
export function aBench(tensors: readonly TensorSpec[] = FLOATS, labels?: readonly string[]): FrontBench {
  return new FrontBench(
    [anEchoModel('echo', tensors, { spec: { labels } }), anAddSubModel()],
    v2ProtocolRoutes,
  );
}

/** JSON, with tensors after it when there are any. */
export function infer(json: unknown, binaries?: readonly Uint8Array[], more: FakeRequest = {}): FakeRequest {
  const head = Buffer.from(typeof json === 'string' ? json : JSON.stringify(json));
  const length = binaries ? { [LENGTH]: String(head.length) } : {};
  return {
    url: '/v2/models/echo/infer',
    body: Buffer.concat([head, ...(binaries ?? [])]),
    ...more,
    headers: { ...length, ...more.headers },
  };
}

export function floats(...values: number[]): Uint8Array {
  return new Uint8Array(Float32Array.from(values).buffer);
}

export function integers(first: number): number[] {
  return Array.from({ length: 16 }, (_, index) => first + index);
}

export function strings(...texts: string[]): Uint8Array {
  return Buffer.concat(
    texts.flatMap((text) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(Buffer.byteLength(text));
      return [length, Buffer.from(text)];
    }),
  );
}

export function jsonOf(exchange: FakeExchange): InferJson {
  expect(exchange.status, exchange.text).toBe(200);
  return exchange.json as InferJson;
}

/** The parts of an answer with binary outputs. */
export function binaryOf(exchange: FakeExchange, body = exchange.answer?.body ?? new Uint8Array(0)) {
  expect(exchange.status).toBe(200);
  expect(exchange.answer?.headers.get('content-type')).toBe('application/octet-stream');
  const length = Number(exchange.answer?.headers.get(LENGTH));
  const json = JSON.parse(Buffer.from(body.subarray(0, length)).toString()) as InferJson;
  return { json, rest: body.slice(length) };
}
