import { fileURLToPath } from 'node:url';
import { loadSync } from '@grpc/proto-loader';
import { type Message, methodsOf } from '../protocol.ts';

const READERS = methodsOf(
  loadSync(fileURLToPath(new URL('./rpc_status.proto', import.meta.url)), {
    keepCase: true,
    longs: Number,
    defaults: true,
  }),
  'google.rpc.Reader',
);

/** `grpc-status-details-bin` as another implementation of protobuf reads it: details by the names of their types. */
export function readStatus(bytes: Buffer): { status: Message; details: Record<string, Message> } {
  const status = read('Status', bytes);
  const details: Record<string, Message> = {};
  for (const { type_url, value } of status.details as { type_url: string; value: Buffer }[]) {
    const name = type_url.replace('type.googleapis.com/google.rpc.', '');
    details[name] = read(name, value);
  }
  return { status, details };
}

function read(name: string, bytes: Buffer): Message {
  const reader = READERS[name];
  if (!reader) throw new Error(`no type ${name}`);
  return reader.requestDeserialize(bytes);
}
