import { basename, join } from 'node:path';
import { isGimbalError, nearestName, type TensorSpec } from '@gimbal/core';
import type { DeclaredImage, VersionFile } from '@gimbal/core/config';
import { containedPath } from './contained-path.ts';
import { listFolder } from './folder-files.ts';
import type { OnnxModel } from './onnx-model.ts';
import { readOnnxModel } from './onnx-reader.ts';
import type { ProblemReport } from './problem-report.ts';
import type { VersionSource } from './version-source.ts';

/** The file that a version without version.yaml is made of, as in the field's other servers. */
export const USUAL_MODEL_FILE = 'model.onnx';
const EXTENSION = '.onnx';

/** A variant whose file has been read. */
export interface FoundVariant {
  readonly name: string;
  readonly file: string;
  /** Absolute. */
  readonly path: string;
  readonly qualityRatio: number | undefined;
  readonly image: DeclaredImage;
  readonly model: OnnxModel;
}

interface NamedVariant {
  readonly name: string;
  readonly file: string;
  readonly quality: number | undefined;
  readonly image: DeclaredImage;
}

/** The version's variants, best first; problems go to the report, and unreadable variants are left out. */
export async function findVariants(
  source: VersionSource,
  declared: VersionFile,
  report: ProblemReport,
): Promise<readonly FoundVariant[]> {
  const named =
    declared.variants?.map(({ name, file, quality, image }) => ({
      name,
      file,
      quality,
      image: image ?? {},
    })) ?? (await deriveVariants(source, report));
  const found: FoundVariant[] = [];
  for (const [index, variant] of named.entries()) {
    const read = await readVariant(source, { variant, index, report });
    if (read !== undefined) found.push(read);
  }
  for (const variant of found.slice(1)) compare(found[0], variant, report);
  return found;
}

async function deriveVariants(source: VersionSource, report: ProblemReport): Promise<NamedVariant[]> {
  const { files } = await listFolder(source.folder);
  const models =
    source.onlyFile === undefined ? files.filter((file) => file.endsWith(EXTENSION)) : [source.onlyFile];
  const file = models.includes(USUAL_MODEL_FILE)
    ? USUAL_MODEL_FILE
    : models.length === 1
      ? models[0]
      : undefined;
  if (file !== undefined) return [{ name: basename(file, EXTENSION), file, quality: undefined, image: {} }];
  if (models.length === 0) {
    report.addFile(USUAL_MODEL_FILE, { expected: 'an .onnx file in the version’s folder', got: 'none' });
  } else {
    report.addFile('version.yaml', {
      expected: `model.onnx, a single .onnx file, or a declaration of variants`,
      got: models.slice(0, 5).join(', '),
      hint: 'list them under "variants", best first',
    });
  }
  return [];
}

async function readVariant(
  source: VersionSource,
  { variant, index, report }: { variant: NamedVariant; index: number; report: ProblemReport },
): Promise<FoundVariant | undefined> {
  const { name, file, quality, image } = variant;
  const contained = await containedPath(source.root, source.folder, file);
  if (!contained.ok) {
    const { files } = await listFolder(source.folder);
    const near = nearestName(file, files);
    report.addField(
      ['variants', index, 'file'],
      {
        expected: 'a file inside the version’s folder',
        got:
          contained.why === 'missing'
            ? `${JSON.stringify(file)}, which is not there`
            : `${JSON.stringify(file)}, which is outside`,
        hint:
          near === undefined || contained.why === 'outside'
            ? undefined
            : `did you mean ${JSON.stringify(near)}?`,
      },
      file,
    );
    return undefined;
  }
  try {
    const model = await readOnnxModel(contained.path);
    return { name, file, path: join(source.folder, file), qualityRatio: quality, image, model };
  } catch (error) {
    if (!isGimbalError(error)) throw error;
    const [field] = error.fields;
    report.addFile(file, {
      expected: field?.expected ?? 'an ONNX model',
      got: field?.received ?? error.message,
      hint: field?.hint,
    });
    return undefined;
  }
}

/** Rungs of a ladder take each other's place, so they must take and give the same tensors. */
function compare(best: FoundVariant | undefined, other: FoundVariant, report: ProblemReport): void {
  if (best === undefined) return;
  for (const side of ['inputs', 'outputs'] as const) {
    const expected = best.model[side];
    const got = other.model[side];
    const index = Math.max(
      0,
      expected.findIndex((tensor, at) => !isAlike(tensor, got[at])),
    );
    if (expected.length === got.length && expected.every((tensor, at) => isAlike(tensor, got[at]))) continue;
    report.addFile(other.file, {
      expected: `the ${side} of ${best.file}, ${describeTensor(expected[index])}`,
      got: describeTensor(got[index]),
      hint: 'variants of one version take each other’s place; serve others as a model of their own',
    });
  }
}

function isAlike(left: TensorSpec, right: TensorSpec | undefined): boolean {
  return (
    left.name === right?.name &&
    left.datatype === right.datatype &&
    left.shape.length === right.shape.length &&
    left.shape[0] === right.shape[0]
  );
}

export function describeTensor(tensor: TensorSpec | undefined): string {
  if (tensor === undefined) return 'none';
  const axes = tensor.shape.map((length, index) =>
    length < 0 ? (tensor.axisNames[index] ?? '?') : String(length),
  );
  return `${tensor.name} ${tensor.datatype} [${axes.join(', ')}]`;
}
