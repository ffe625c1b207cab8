import type { Region, Size } from './framing.ts';

/**
 * How a stored picture is turned to stand upright. Only indices are computed: pixels are turned while they are written
 * into the tensor, which costs nothing, and never before the resize, which would cost a copy of the whole picture.
 */
export interface Turn {
  /** Upright x runs along the stored y axis. */
  readonly transposed: boolean;
  /** The stored x (y) axis runs against its upright counterpart. */
  readonly mirroredX: boolean;
  readonly mirroredY: boolean;
}

/** EXIF orientations 1 to 8 (CIPA DC-008, 4.6.4); anything else is upright. */
export function turnOf(orientation: number): Turn {
  return {
    transposed: orientation >= 5 && orientation <= 8,
    mirroredX: orientation === 2 || orientation === 3 || orientation === 7 || orientation === 8,
    mirroredY: orientation === 3 || orientation === 4 || orientation === 6 || orientation === 7,
  };
}

/** A size as stored, of what is `size` when upright, and the other way round. */
export function turnSize(size: Size, turn: Turn): Size {
  return turn.transposed ? { width: size.height, height: size.width } : size;
}

/** Where a region of the upright picture lies in the stored one, whose size is `stored`. */
export function storedRegion(upright: Region, stored: Size, turn: Turn): Region {
  const { width, height } = turnSize(upright, turn);
  const left = turn.transposed ? upright.top : upright.left;
  const top = turn.transposed ? upright.left : upright.top;
  return {
    left: turn.mirroredX ? stored.width - left - width : left,
    top: turn.mirroredY ? stored.height - top - height : top,
    width,
    height,
  };
}

/** How to walk a stored picture of `stored` size in upright row order, in pixels. */
export interface Walk {
  readonly first: number;
  readonly stepX: number;
  readonly stepY: number;
}

export function uprightWalk(stored: Size, turn: Turn): Walk {
  const alongX = turn.mirroredX ? -1 : 1;
  const alongY = turn.mirroredY ? -stored.width : stored.width;
  const first =
    (turn.mirroredX ? stored.width - 1 : 0) + (turn.mirroredY ? (stored.height - 1) * stored.width : 0);
  return turn.transposed ? { first, stepX: alongY, stepY: alongX } : { first, stepX: alongX, stepY: alongY };
}
