import { checkDocument, versionFileSchema } from '@gimbal/core/config';
import { describe, expect, it } from 'vitest';
import { describeProblem } from './file-problem.ts';
import { YamlDocument } from './yaml-document.ts';

function problems(text: string): string[] {
  const document = new YamlDocument('1/version.yaml', text);
  if (document.problems.length > 0) return document.problems.map(describeProblem);
  return document.problemsOf(checkDocument(versionFileSchema, document.value)).map(describeProblem);
}

describe('a problem of version.yaml', () => {
  it('stands at the value, in line order', () => {
    expect(problems('task: tensor\nbatching:\n  maxSize: many\ndeadline: 5\n')).toEqual([
      '1/version.yaml:3:12: batching.maxSize: expected an integer from 1 to 4096, or auto, got "many"',
      '1/version.yaml:4:11: deadline: expected a duration from 1ms to 1d, with its unit (5ms, 1s, 2m, 1h), got 5',
    ]);
  });

  it('of an unknown key stands at the key and names the nearest valid one', () => {
    expect(problems('image:\n  cropratio: 0.9\n')).toEqual([
      expect.stringMatching(
        /^1\/version\.yaml:2:3: image\.cropratio: expected one of size, .*; did you mean "cropRatio"\?$/,
      ),
    ]);
  });

  it('of an unknown choice names the nearest valid one', () => {
    expect(problems('task: image-clasification')[0]).toMatch(
      /:1:7: task: .*got "image-clasification"; did you mean "image-classification"\?/,
    );
  });

  it('inside flow collections and lists stands at its own place', () => {
    const text = 'variants:\n  - { name: a, file: a.onnx }\n  - { name: b, file: b.onnx, quality: 1.5 }\n';
    expect(problems(text)).toEqual([
      '1/version.yaml:3:39: variants[1].quality: expected a number from 0 to 1, got 1.5',
    ]);
  });

  it('of a missing field stands at the mapping that lacks it', () => {
    expect(problems('variants:\n  - name: a\n')[0]).toMatch(
      /^1\/version\.yaml:2:5: variants\[0\]\.file: expected the name of an \.onnx file.*got nothing/,
    );
  });

  it('of two variants with one name is found', () => {
    expect(problems('variants: [{ name: a, file: x }, { name: a, file: y }]')[0]).toMatch(
      /variants\[1\]\.name.*no other variant/,
    );
  });
});

describe('a text that is no YAML', () => {
  it('is told with its line', () => {
    expect(problems('task: [tensor\nlabels: x\n')[0]).toMatch(
      /^1\/version\.yaml:\d+:\d+: expected YAML, got /,
    );
  });

  it('with a repeated key is told', () => {
    expect(problems('task: tensor\ntask: tabular\n')[0]).toMatch(/:2:1: expected YAML, got .*unique/i);
  });

  it('that expands without bounds is refused', () => {
    const lines = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (let level = 0; level < 9; level += 1) {
      const from = String.fromCharCode(97 + level);
      const to = String.fromCharCode(98 + level);
      lines.push(`${to}: &${to} [${Array(9).fill(`*${from}`).join(', ')}]`);
    }
    expect(problems(lines.join('\n'))[0]).toMatch(/alias/i);
  });
});

it('an empty document declares nothing', () => {
  expect(problems('')).toEqual([]);
  expect(problems('# only a comment\n')).toEqual([]);
});

it('a document that is no mapping is told', () => {
  expect(problems('- 1\n- 2\n')[0]).toMatch(/^1\/version\.yaml:1:1: expected a mapping/);
});
