import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EventParser, JsonLines, ServerSentEvents, type StreamEvent } from './event-parser.ts';

/** Feeds text in pieces that end anywhere. */
function parsed(parser: EventParser, text: string, cuts: readonly number[]): StreamEvent[] {
  const ends = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((left, right) => left - right);
  const events: StreamEvent[] = [];
  let at = 0;
  for (const end of [...ends, text.length]) {
    events.push(...parser.push(text.slice(at, end)));
    at = end;
  }
  return [...events, ...parser.end()];
}

const line = fc.string().map((text) => text.replace(/[\r\n]/g, ''));
const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const cuts = fc.array(fc.nat(), { maxLength: 20 });

describe('ServerSentEvents', () => {
  it('come whole, however the bytes arrive', () => {
    const event = fc.record({
      event: fc.constantFrom('message', 'token'),
      lines: fc.array(line, { minLength: 1 }),
    });
    fc.assert(
      fc.property(fc.array(event), lineEnd, cuts, (events, end, pieces) => {
        const text = events
          .map(({ event: name, lines }) =>
            [`event: ${name}`, ': a comment', 'id: 7', ...lines.map((data) => `data: ${data}`), '', ''].join(
              end,
            ),
          )
          .join('');
        expect(parsed(new ServerSentEvents(), text, pieces)).toEqual(
          events.map(({ event: name, lines }) => ({ event: name, data: lines.join('\n') })),
        );
      }),
    );
  });

  it('are read as the standard has them', () => {
    const read = (text: string): StreamEvent[] => parsed(new ServerSentEvents(), text, []);
    expect(read('data:x\n\n')).toEqual([{ event: 'message', data: 'x' }]);
    expect(read('data\ndata:  two\n\n')).toEqual([{ event: 'message', data: '\n two' }]);
    expect(read('event: only\n\ndata: y\n\n')).toEqual([{ event: 'message', data: 'y' }]);
    expect(read('data: cut off'), 'an event without its end is dropped').toEqual([]);
  });

  it('are bounded', () => {
    const parser = new ServerSentEvents();
    const flood = (): void => {
      for (let piece = 0; piece < 20; piece += 1) parser.push(`data: ${'x'.repeat(1024 * 1024)}\n`);
    };
    expect(flood).toThrow('expected events of at most');
    const endless = new ServerSentEvents();
    expect(() => endless.push('x'.repeat(17 * 1024 * 1024))).toThrow('expected events of at most');
  });
});

it('JsonLines come whole, however the bytes arrive, and the last may lack its end', () => {
  const document = fc.jsonValue().map((value) => JSON.stringify(value));
  fc.assert(
    fc.property(
      fc.array(document),
      fc.constantFrom('\n', '\r\n'),
      fc.boolean(),
      cuts,
      (lines, end, ends, pieces) => {
        const text = lines.join(end) + (ends ? end : '');
        expect(parsed(new JsonLines(), text, pieces).map(({ data }) => data)).toEqual(lines);
      },
    ),
  );
});
