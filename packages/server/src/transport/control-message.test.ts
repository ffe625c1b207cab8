import { expect, test } from 'vitest';
import { readRunnerMessage } from './control-message.ts';
import { MalformedFrame } from './frame-cursor.ts';

function read(text: string): unknown {
  return readRunnerMessage(new Uint8Array(Buffer.from(text)));
}

test('A message of a runner is read, padding and all', () => {
  expect(read('{"kind":"pong","id":3,"residentBytes":5}\0\0\0')).toEqual({
    kind: 'pong',
    id: 3,
    residentBytes: 5,
  });
});

test.each([
  '',
  '{',
  'null',
  '[]',
  '{"kind":"nonsense"}',
  '{"kind":"pong","id":3}',
  '{"kind":"pong","id":3,"residentBytes":-1}',
  '{"kind":"hello"}',
  '{"kind":"failed","code":"NO_SUCH_CODE","message":"x"}',
  '{"kind":"ready","signature":{},"profile":{},"device":"cpu","loadMs":1,"residentBytes":1}',
])('The message %j is malformed', (text) => {
  expect(() => read(text)).toThrow(MalformedFrame);
});
