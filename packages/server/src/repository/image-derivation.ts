import type { Derivation, ImageSpec, TensorSpec } from '@gimbal/core';
import type { DeclaredImage } from '@gimbal/core/config';

/** What most image classifiers were trained with, and no more than a guess. */
const USUAL_CROP_RATIO = 0.875;
const USUAL_FREE_SIZE = { multipleOf: 32, maxSide: 1_280 } as const;
const IMAGE_DATATYPES = ['FP32', 'FP16', 'UINT8'];
const RANK = 4;

interface Layout {
  readonly layout: 'nchw' | 'nhwc';
  /** -1 where it is free. */
  readonly channels: number;
  readonly height: number;
  readonly width: number;
}

export interface ImageMismatch {
  /** Member of `image`. */
  readonly key: keyof ImageSpec;
  readonly expected: string;
  readonly got: string;
}

export interface CompletedImage {
  readonly image: ImageSpec;
  readonly derivations: readonly Derivation[];
  readonly mismatches: readonly ImageMismatch[];
}

/** A float or byte tensor of rank 4 with one or three channels. */
export function looksLikeImage(tensor: TensorSpec): boolean {
  return IMAGE_DATATYPES.includes(tensor.datatype) && layoutOf(tensor) !== undefined;
}

/** The declared preprocessing, completed from the model's input and checked against it. */
export function completeImage(
  declared: DeclaredImage,
  tensor: TensorSpec,
  use: 'classification' | 'detection',
): CompletedImage {
  const derivations: Derivation[] = [];
  const derive = <T>(key: keyof ImageSpec, value: T, because: string): T => {
    derivations.push({ field: `image.${key}`, value: JSON.stringify(value), because });
    return value;
  };
  const shape = shownShape(tensor);
  const found = layoutOf(tensor, declared.layout) ?? { layout: 'nchw', channels: 3, height: -1, width: -1 };
  const crop =
    declared.crop ??
    (use === 'detection'
      ? derive('crop', 'none', 'detectors see the whole picture')
      : derive('crop', 'centre', 'guess: what most classifiers are trained with'));
  const image: ImageSpec = {
    size: declared.size ?? deriveSize(found, shape, derive),
    crop,
    cropRatio:
      declared.cropRatio ??
      (crop === 'none' ? 1 : derive('cropRatio', USUAL_CROP_RATIO, 'guess: 224 of 256 pixels')),
    resize: declared.resize ?? derive('resize', 'bilinear', 'guess: the most frequent filter'),
    colour:
      declared.colour ??
      (found.channels === 1
        ? derive('colour', 'grey', `one channel in ${shape}`)
        : derive('colour', 'rgb', 'guess: bgr is rare, and declared where it is used')),
    layout: declared.layout ?? derive('layout', found.layout, `the place of the channels in ${shape}`),
    ...normalisation(declared, tensor, { use, derive }),
  };
  return { image, derivations, mismatches: mismatches(image, found, shape) };
}

type Derive = <T>(key: keyof ImageSpec, value: T, because: string) => T;

function deriveSize({ width, height }: Layout, shape: string, derive: Derive): ImageSpec['size'] {
  if (width > 0 && height > 0) return derive('size', [width, height] as const, `the input is ${shape}`);
  return derive('size', USUAL_FREE_SIZE, `guess: height and width are free in ${shape}`);
}

/** ImageNet's means are never guessed: a model that was trained without them would be quietly wrong. */
function normalisation(
  declared: DeclaredImage,
  { datatype }: TensorSpec,
  { use, derive }: { use: 'classification' | 'detection'; derive: Derive },
): Pick<ImageSpec, 'mean' | 'std'> {
  const known =
    datatype === 'UINT8'
      ? 'the input takes bytes'
      : use === 'detection'
        ? 'CenterFace takes values from 0 to 255'
        : undefined;
  const mean = declared.mean ?? derive('mean', [0], known ?? 'guess: values from 0 to 1');
  if (declared.std !== undefined) return { mean, std: declared.std };
  if (known !== undefined) return { mean, std: derive('std', [1], known) };
  if (declared.mean !== undefined) return { mean, std: derive('std', [1], 'only a mean is declared') };
  const because = 'guess: values from 0 to 1; declare image.mean and image.std if it was trained otherwise';
  return { mean, std: derive('std', [255], because) };
}

function mismatches(image: ImageSpec, found: Layout, shape: string): ImageMismatch[] {
  const wrong: ImageMismatch[] = [];
  const expectedChannels = image.colour === 'grey' ? 1 : 3;
  if (found.channels > 0 && found.channels !== expectedChannels) {
    wrong.push({
      key: 'colour',
      expected:
        found.channels === 1
          ? `grey, since the input is ${shape}`
          : `rgb or bgr, since the input is ${shape}`,
      got: image.colour,
    });
  }
  const { size } = image;
  const fixed = found.width > 0 && found.height > 0;
  if (fixed && ('multipleOf' in size || size[0] !== found.width || size[1] !== found.height)) {
    wrong.push({
      key: 'size',
      expected: `[${found.width}, ${found.height}], since the input is ${shape}`,
      got: JSON.stringify(size),
    });
  }
  for (const key of ['mean', 'std'] as const) {
    const { length } = image[key];
    if (length === 1 || length === expectedChannels) continue;
    wrong.push({ key, expected: `one number or ${expectedChannels}`, got: `${length} numbers` });
  }
  return wrong;
}

function layoutOf(tensor: TensorSpec, declared?: 'nchw' | 'nhwc'): Layout | undefined {
  if (tensor.shape.length !== RANK) return undefined;
  const [, a = -1, b = -1, c = -1] = tensor.shape;
  const first: Layout = { layout: 'nchw', channels: a, height: b, width: c };
  const last: Layout = { layout: 'nhwc', channels: c, height: a, width: b };
  if (declared !== undefined) return declared === 'nchw' ? first : last;
  if (isChannels(a)) return first;
  return isChannels(c) ? last : undefined;
}

function isChannels(length: number): boolean {
  return length === 1 || length === 3;
}

function shownShape(tensor: TensorSpec): string {
  const axes = tensor.shape.map((length, index) =>
    length < 0 ? (tensor.axisNames[index] ?? '?') : String(length),
  );
  return `[${axes.join(', ')}]`;
}
