import { describe, expect, it } from 'vitest';
import { DateLine, statusLine } from './header-lines.ts';

describe('statusLine', () => {
  it('names known statuses and writes unknown ones', () => {
    expect(statusLine(200)).toBe('HTTP/1.1 200 OK\r\n');
    expect(statusLine(422)).toBe('HTTP/1.1 422 Unprocessable Content\r\n');
    expect(statusLine(299)).toBe('HTTP/1.1 299 Unknown\r\n');
  });
});

describe('DateLine', () => {
  it('is made anew when the second changes, and only then', () => {
    let wallTimeMs = 784_111_777_600;
    let reads = 0;
    const line = new DateLine({
      now: () => 0,
      wallTimeMs: () => {
        reads += 1;
        return wallTimeMs;
      },
    });
    expect(line.at(100)).toBe('Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n');
    expect(line.at(499)).toBe('Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n');
    expect(reads).toBe(1);
    wallTimeMs += 400;
    expect(line.at(500)).toBe('Date: Sun, 06 Nov 1994 08:49:38 GMT\r\n');
    expect(reads).toBe(2);
  });
});
