import { describe, expect, it } from 'vitest';
import { nearestName } from './nearest-name.ts';

describe('nearestName', () => {
  it.each([
    ['two neighbours that changed places', 'pixles', 'pixels'],
    ['a short name with its letters swapped', 'fp23', 'fp32'],
    ['a name of two letters, swapped', 'ab', 'ba'],
    ['swapped first letters', 'idgits', 'digits'],
    ['a missing letter', 'digts', 'digits'],
    ['a letter too many', 'diggits', 'digits'],
    ['a wrong letter', 'fases', 'faces'],
    ['another case', 'DIGITS', 'digits'],
  ])('finds what was meant by %s', (_, written, meant) => {
    expect(nearestName(written, ['efficientnet', 'minilm', meant])).toBe(meant);
  });

  it('counts a swap as one edit: it is nearer than two wrong letters', () => {
    expect(nearestName('abdc', ['abxy', 'abcd'])).toBe('abcd');
    expect(nearestName('abc', ['bca'])).toBeUndefined();
  });

  it('takes the first of equally near names', () => {
    expect(nearestName('cat', ['bat', 'hat'])).toBe('bat');
  });

  it('suggests nothing for what is near to nothing, empty, or too long to be a name', () => {
    expect(nearestName('zzzzzz', ['digits'])).toBeUndefined();
    expect(nearestName('', ['a'])).toBeUndefined();
    expect(nearestName('a'.repeat(65), ['a'.repeat(64)])).toBeUndefined();
    expect(nearestName('a'.repeat(64), ['a'.repeat(65)])).toBeUndefined();
  });
});
