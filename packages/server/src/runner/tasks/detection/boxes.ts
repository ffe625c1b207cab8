/** A detected object, in pixels. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  readonly score: number;
  /** x, y in turn. */
  readonly landmarks: readonly number[];
}

/** Most candidates that are compared with each other: the comparison is quadratic, and a hostile picture could have thousands. */
const MAX_CANDIDATES = 2_000;

/**
 * Greedy non-maximum suppression: the surest box stays, and those that overlap it by more than `iou` go; then the next.
 * At most `limit` boxes, the surest first.
 */
export function suppressOverlaps(
  candidates: readonly Box[],
  { iou, limit }: { iou: number; limit: number },
): Box[] {
  const sorted = [...candidates].sort((left, right) => right.score - left.score).slice(0, MAX_CANDIDATES);
  const kept: Box[] = [];
  for (const candidate of sorted) {
    if (kept.length >= limit) break;
    if (!kept.some((box) => intersectionOverUnion(box, candidate) > iou)) kept.push(candidate);
  }
  return kept;
}

export function intersectionOverUnion(one: Box, other: Box): number {
  const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  if (width <= 0 || height <= 0) return 0;
  const shared = width * height;
  return shared / (area(one) + area(other) - shared);
}

function area(box: Box): number {
  return (box.right - box.left) * (box.bottom - box.top);
}
