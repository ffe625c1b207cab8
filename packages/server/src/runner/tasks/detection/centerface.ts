import type { DetectionSpec } from '@gimbal/core';
import type { Numbers } from '../answer/tensor-numbers.ts';
import type { Size } from '../image/framing.ts';
import { type Box, suppressOverlaps } from './boxes.ts';

/** Pixels of the network's input per cell of its outputs. */
const STRIDE = 4;
const LANDMARKS = 5;

/** Outputs of one picture: planes of `cells` numbers each, row by row. */
export interface CenterFacePlanes {
  /** Size of one plane. */
  readonly cells: Size;
  /** Probability that a face has its centre in the cell. */
  readonly heatmap: Numbers;
  /** Logarithms of height and width, in cells. */
  readonly scale: Numbers;
  /** Where in its cell the centre is: y, x. */
  readonly offset: Numbers;
  /** Five points as fractions of the box: y, x in turn. */
  readonly landmarks: Numbers;
}

/**
 * Faces in pixels of the network's input, the surest first. Anchor-free decoding of Star-Clouds/CenterFace (prj-python,
 * centerface.py `decode`), with the half-cell shift and the clipping of its authors.
 */
export function decodeCenterFace(planes: CenterFacePlanes, spec: DetectionSpec): Box[] {
  const { cells, heatmap } = planes;
  const count = cells.width * cells.height;
  const candidates: Box[] = [];
  for (let cell = 0; cell < count; cell += 1) {
    if ((heatmap[cell] as number) > spec.scoreThreshold) candidates.push(boxAt(planes, cell));
  }
  return suppressOverlaps(candidates, { iou: spec.nmsIou, limit: spec.maxBoxes });
}

function boxAt({ cells, heatmap, scale, offset, landmarks }: CenterFacePlanes, cell: number): Box {
  const count = cells.width * cells.height;
  const row = Math.floor(cell / cells.width);
  const column = cell - row * cells.width;
  const networkWidth = cells.width * STRIDE;
  const networkHeight = cells.height * STRIDE;
  const height = STRIDE * Math.exp(at(scale, cell));
  const width = STRIDE * Math.exp(at(scale, count + cell));
  const centreY = (row + at(offset, cell) + 0.5) * STRIDE;
  const centreX = (column + at(offset, count + cell) + 0.5) * STRIDE;
  const left = clamp(centreX - width / 2, networkWidth);
  const top = clamp(centreY - height / 2, networkHeight);
  const points: number[] = [];
  for (let point = 0; point < LANDMARKS; point += 1) {
    points.push(at(landmarks, (2 * point + 1) * count + cell) * width + left);
    points.push(at(landmarks, 2 * point * count + cell) * height + top);
  }
  return {
    left,
    top,
    right: Math.min(left + width, networkWidth),
    bottom: Math.min(top + height, networkHeight),
    score: at(heatmap, cell),
    landmarks: points,
  };
}

function at(plane: Numbers, index: number): number {
  return plane[index] as number;
}

function clamp(value: number, limit: number): number {
  return Math.min(Math.max(value, 0), limit);
}
