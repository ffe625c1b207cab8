import type { ImageSpec } from '@gimbal/core';

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Region extends Size {
  readonly left: number;
  readonly top: number;
}

/** Which part of the upright picture the network sees, and at what size. */
export interface Framing {
  readonly crop: Region;
  readonly network: Size;
}

/** The framing that a version declares, for a picture of `upright` size. */
export function frame(spec: ImageSpec, upright: Size): Framing {
  return { crop: cropOf(spec, upright), network: networkSize(spec, upright) };
}

/**
 * A centred square as the models were trained with: its side is rounded down, and a remainder of one pixel goes to the
 * left and the top (torchvision and Pillow round the same way).
 */
function cropOf(spec: ImageSpec, { width, height }: Size): Region {
  if (spec.crop === 'none') return { left: 0, top: 0, width, height };
  const side = Math.min(Math.max(1, Math.floor(spec.cropRatio * Math.min(width, height))), width, height);
  return { left: (width - side + 1) >> 1, top: (height - side + 1) >> 1, width: side, height: side };
}

function networkSize(spec: ImageSpec, upright: Size): Size {
  if (!('multipleOf' in spec.size)) return { width: spec.size[0], height: spec.size[1] };
  const { multipleOf, maxSide } = spec.size;
  const scale = Math.min(1, maxSide / Math.max(upright.width, upright.height));
  return {
    width: roundUp(upright.width * scale, multipleOf),
    height: roundUp(upright.height * scale, multipleOf),
  };
}

/** Rounds to whole pixels first, so that 1280.0000001 is not taken for 1312. */
function roundUp(length: number, multipleOf: number): number {
  return Math.max(1, Math.ceil(Math.round(length) / multipleOf)) * multipleOf;
}
