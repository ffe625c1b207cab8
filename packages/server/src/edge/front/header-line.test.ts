import { describe, expect, it } from 'vitest';
import { headerLine } from './header-line.ts';

describe('headerLine', () => {
  it('writes printable ASCII as it is', () => {
    expect(headerLine('X-Name', 'rung=2;reason="overload"')).toBe('X-Name: rung=2;reason="overload"\r\n');
    expect(headerLine('X-Empty', '')).toBe('X-Empty: \r\n');
  });

  it.each([
    ['x\r\nB: y', 'x%0D%0AB%3A%20y'],
    ['a\nb', 'a%0Ab'],
    ['a\x00', 'a%00'],
    ['a\x7f', 'a%7F'],
    ['a\u010d\u010a', 'a%C4%8D%C4%8A'],
    ['\u{1f600}', '%F0%9F%98%80'],
    ['\ud800', '%EF%BF%BD'],
  ])('percent-encodes %j, which could end the line or become another character', (value, written) => {
    expect(headerLine('A', value)).toBe(`A: ${written}\r\n`);
  });
});
