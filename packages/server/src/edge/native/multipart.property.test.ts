import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseForm } from './multipart.ts';

const LIMITS = { maxParts: 10 };

function render(boundary: string, parts: readonly { name: string; content: Uint8Array }[]): Buffer {
  const pieces = parts.flatMap(({ name, content }) => [
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
}

const aBoundary = fc.stringMatching(/^[A-Za-z0-9'()+_,./:=?-]{1,20}$/);
/** Bytes that often look like the beginning of a boundary. */
const aContent = fc.oneof(
  fc.uint8Array({ maxLength: 60 }),
  fc
    .constantFrom('\r\n--', '\r\n', '--', '\r\n\r\n', '', '\r\n--B')
    .map((text) => new Uint8Array(Buffer.from(text))),
);

describe('parseForm', () => {
  it('gives back every part as it was, whatever its bytes', () => {
    fc.assert(
      fc.property(
        aBoundary,
        fc.array(fc.record({ name: fc.stringMatching(/^[a-z]{1,8}$/), content: aContent }), {
          minLength: 1,
          maxLength: 5,
        }),
        (boundary, parts) => {
          fc.pre(parts.every(({ content }) => !Buffer.from(content).includes(`\r\n--${boundary}`)));
          const parsed = parseForm(render(boundary, parts), boundary, LIMITS);
          expect(
            parsed.map(({ name, content }) => ({ name, content: Buffer.from(content).toString('hex') })),
          ).toEqual(
            parts.map(({ name, content }) => ({ name, content: Buffer.from(content).toString('hex') })),
          );
        },
      ),
    );
  });

  it('ends every broken form with an error of ours, and never loops', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), fc.nat(200), (noise, cut) => {
        const whole = render('B', [{ name: 'a', content: noise }]);
        const body = Buffer.concat([whole.subarray(0, Math.min(cut, whole.length)), noise]);
        try {
          parseForm(body, 'B', LIMITS);
        } catch (error) {
          expect((error as { code: string }).code).toMatch(/MALFORMED_REQUEST|INPUT_TOO_LARGE/);
        }
      }),
    );
  });

  it('takes preambles, padding, quoted names and content types', () => {
    const body = Buffer.from(
      'preamble\r\n--B \t\r\nContent-Type: Image/PNG\r\ncontent-disposition: form-data; name="a \\"b\\""; filename="x;y.png"\r\n\r\nhello\r\n--B--\r\nepilogue',
    );
    const [part] = parseForm(body, 'B', LIMITS);
    expect(part).toMatchObject({ name: 'a "b"', fileName: 'x;y.png', contentType: 'image/png' });
    expect(Buffer.from(part?.content ?? []).toString()).toBe('hello');
  });

  it('refuses more parts than allowed', () => {
    const parts = Array.from({ length: 11 }, () => ({ name: 'a', content: new Uint8Array(1) }));
    expect(() => parseForm(render('B', parts), 'B', LIMITS)).toThrow('at most 10 parts');
  });
});
