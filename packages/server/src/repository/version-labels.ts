import type { Derivation, TensorSpec } from '@gimbal/core';
import type { VersionFile } from '@gimbal/core/config';
import { containedPath } from './contained-path.ts';
import { readSmallText } from './folder-files.ts';
import type { ProblemReport } from './problem-report.ts';
import { isScores, scoreOutput } from './task-derivation.ts';
import type { VersionSource } from './version-source.ts';

const LABELS_FILE = 'labels.txt';
const MAX_LABELS_BYTES = 4 * 1024 * 1024;

export interface FoundLabels {
  readonly labels: readonly string[] | undefined;
  /** Name of the file that they come from. */
  readonly file: string | undefined;
  readonly derivation: Derivation | undefined;
}

const NONE: FoundLabels = { labels: undefined, file: undefined, derivation: undefined };

/** Declared in place or in a file, or found in labels.txt. */
export async function findLabels(
  source: VersionSource,
  declared: VersionFile,
  report: ProblemReport,
): Promise<FoundLabels> {
  if (Array.isArray(declared.labels)) return { ...NONE, labels: declared.labels };
  const isDeclared = typeof declared.labels === 'string';
  if (!isDeclared && source.onlyFile !== undefined) return NONE;
  const file = isDeclared ? String(declared.labels) : LABELS_FILE;
  const contained = await containedPath(source.root, source.folder, file);
  if (!contained.ok) {
    if (!isDeclared && contained.why === 'missing') return NONE;
    report.addField(
      ['labels'],
      {
        expected: 'a file inside the version’s folder',
        got: `${JSON.stringify(file)}, which is ${contained.why}`,
      },
      file,
    );
    return NONE;
  }
  const labels = await readLabels(contained.path, { file, report });
  const count = labels?.length ?? 0;
  const because = `${LABELS_FILE} is there`;
  return {
    labels,
    file,
    derivation: isDeclared ? undefined : { field: 'labels', value: `${file} (${count} labels)`, because },
  };
}

/** Only models with scores: a detector's labels have no axis that would tell their number. */
export function checkLabelCount(
  labels: readonly string[],
  outputs: readonly TensorSpec[],
  { file, report }: { file: string | undefined; report: ProblemReport },
): void {
  const scores = outputs.filter(isScores);
  if (scores.length === 0 || scoreOutput(outputs, labels.length) !== undefined) return;
  const expected = scores.map(
    (output) => `${output.shape.at(-1)} for the output ${JSON.stringify(output.name)}`,
  );
  report.addField(
    ['labels'],
    { expected: `as many labels as scores: ${expected.join(' or ')}`, got: `${labels.length} labels` },
    file,
  );
}

async function readLabels(
  path: string,
  { file, report }: { file: string; report: ProblemReport },
): Promise<readonly string[] | undefined> {
  const read = await readSmallText(path, MAX_LABELS_BYTES);
  if (read.kind !== 'text') {
    const got = read.kind === 'too-large' ? 'more' : read.kind === 'missing' ? 'no such file' : read.why;
    report.addFile(file, { expected: `a text file of at most ${MAX_LABELS_BYTES} bytes`, got });
    return undefined;
  }
  const lines = read.text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  const empty = lines.findIndex((line) => line.trim() === '');
  if (lines.length === 0 || empty >= 0) {
    report.add({
      file: report.shown(file),
      line: empty < 0 ? undefined : empty + 1,
      column: empty < 0 ? undefined : 1,
      field: '',
      expected: 'one label in each line',
      got: empty < 0 ? 'an empty file' : 'an empty line',
      hint: undefined,
    });
    return undefined;
  }
  return lines.map((line) => line.trim());
}
