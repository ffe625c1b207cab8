import { assert, GimbalError, type ImageSpec } from '@gimbal/core';
import sharp, { type Sharp, type SharpOptions } from 'sharp';
import type { Framing, Region, Size } from './framing.ts';
import {
  ACCEPTED_FORMATS,
  describeForeignContent,
  type ImageFormat,
  sniffImageFormat,
} from './image-format.ts';
import { readJpegHeader } from './jpeg-header.ts';
import { storedRegion, type Turn, turnOf, turnSize } from './orientation.ts';
import { readPngHeader } from './png-header.ts';
import { resample } from './resample.ts';

/** Pictures with more pixels are refused from their header: 25 million are 75 MB when decoded. */
export const MAX_IMAGE_PIXELS = 25_000_000;
/** The longest side that a JPEG can have; a PNG of one row could else be 25 million pixels wide. */
const MAX_IMAGE_SIDE = 65_535;

/**
 * A JPEG that shrinks by this much or more is decoded at a half, a quarter or an eighth of its size, which its transform
 * gives almost for nothing, and brought to ROUGH_SCALE times the network's size; the exact crop and resize follow. A
 * 12 megapixel photo then costs a fifth. With twice the pixels left the difference is below that between two decoders.
 */
const ROUGH_REDUCTION = 6;
const ROUGH_SCALE = 2;

/** Larger crops are shrunk by libvips while they are decoded: from here on that is faster, and they are never whole in memory. */
const MAX_RESAMPLED_PIXELS = 1_200_000;

const KERNELS = { bicubic: 'cubic', bilinear: 'linear', nearest: 'nearest' } as const;

/** Loaders that may run at all, and only on memory. libvips knows many more, some of which read files or fetch. */
const LOADERS = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif', 'Tiff'].map(
  (name) => `VipsForeignLoad${name}Buffer`,
);

sharp.cache(false);
// A runner is one unit of parallelism: the pool decides how many there are.
sharp.concurrency(1);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: LOADERS });

/** A picture before it is decoded. */
export interface ImageHeader {
  readonly format: ImageFormat;
  readonly stored: Size;
  readonly upright: Size;
  readonly turn: Turn;
  readonly cmyk: boolean;
}

/** 8-bit RGB, interleaved, as stored: not yet turned upright. */
export interface Pixels extends Size {
  readonly bytes: Uint8Array;
}

/**
 * Identifies and measures a picture without decoding it. Fails with UNSUPPORTED_MEDIA_TYPE, INPUT_TOO_LARGE or
 * INVALID_INPUT.
 */
export async function readImageHeader(bytes: Uint8Array): Promise<ImageHeader> {
  if (bytes.length === 0) throw undecodable('it is empty');
  const format = sniffImageFormat(bytes);
  if (format === undefined) {
    throw new GimbalError(
      'UNSUPPORTED_MEDIA_TYPE',
      `Cannot decode the image: its format is not accepted, expected ${ACCEPTED_FORMATS}, got ${describeForeignContent(bytes)}`,
    );
  }
  const header = await measure(bytes, format);
  checkSize(header.stored);
  return header;
}

function checkSize({ width, height }: Size): void {
  if (width < 1 || height < 1) throw undecodable('its header says that it has no pixels');
  if (width * height > MAX_IMAGE_PIXELS || Math.max(width, height) > MAX_IMAGE_SIDE) {
    throw tooManyPixels(`${width} × ${height}`);
  }
}

/**
 * Decodes the framed part of a picture at the network's size and gives it to `consume`: the pixels are valid during that
 * call only. Fails with INVALID_INPUT when the content is broken.
 */
export async function decodeImage<T>(
  bytes: Uint8Array,
  header: ImageHeader,
  framing: Framing & Pick<ImageSpec, 'resize'>,
  consume: (pixels: Pixels) => T,
): Promise<T> {
  const crop = storedRegion(framing.crop, header.stored, header.turn);
  const network = turnSize(framing.network, header.turn);
  // Colour profiles are ignored, as the models' own preprocessing did; converting costs more than all the rest.
  const source = sharp(bytes, decoderOptions());
  const rough = roughSize(header, crop, network);
  const framed =
    rough === undefined
      ? reduced(cropped(source, crop, header.stored), crop, { ...network, kernel: KERNELS[framing.resize] })
      : source.resize(rough.width, rough.height, { fit: 'fill', kernel: 'cubic' });
  const decoded = await pixelsOf(framed, header);
  const box = rough === undefined ? { ...decoded, left: 0, top: 0 } : scaleRegion(crop, header.stored, rough);
  const isFinal = rough === undefined && decoded.width === network.width && decoded.height === network.height;
  const pixels = isFinal ? decoded : resample(decoded, box, { ...network, kernel: framing.resize });
  const result = consume(pixels);
  freeMemory(decoded.bytes);
  return result;
}

/** A large crop, shrunk along the axes along which it shrinks; a small one as it is. */
function reduced(
  part: Sharp,
  crop: Size,
  network: Size & { readonly kernel: 'cubic' | 'linear' | 'nearest' },
): Sharp {
  if (crop.width * crop.height <= MAX_RESAMPLED_PIXELS) return part;
  const width = Math.min(crop.width, network.width);
  const height = Math.min(crop.height, network.height);
  return part.resize(width, height, { kernel: network.kernel, fit: 'fill' });
}

function measure(bytes: Uint8Array, format: ImageFormat): ImageHeader | Promise<ImageHeader> {
  switch (format) {
    case 'jpeg':
      return jpegHeader(bytes);
    case 'png':
      return pngHeader(bytes);
    default:
      return libraryHeader(bytes, format);
  }
}

function decoderOptions(): SharpOptions {
  return { failOn: 'error', limitInputPixels: MAX_IMAGE_PIXELS, ignoreIcc: true };
}

function jpegHeader(bytes: Uint8Array): ImageHeader {
  const header = readJpegHeader(bytes);
  if (header === undefined) throw undecodable('its JPEG header is broken');
  const stored = { width: header.width, height: header.height };
  checkSize(stored);
  if (!header.complete) throw undecodable('it is cut off, its end is missing');
  const turn = turnOf(header.orientation);
  return { format: 'jpeg', stored, upright: turnSize(stored, turn), turn, cmyk: header.components === 4 };
}

function pngHeader(bytes: Uint8Array): ImageHeader {
  const header = readPngHeader(bytes);
  if (header === undefined) throw undecodable('it is a PNG that is damaged or cut off');
  const stored = { width: header.width, height: header.height };
  const turn = turnOf(header.orientation);
  return { format: 'png', stored, upright: turnSize(stored, turn), turn, cmyk: false };
}

async function libraryHeader(bytes: Uint8Array, format: ImageFormat): Promise<ImageHeader> {
  try {
    const metadata = await sharp(bytes, { ...decoderOptions(), limitInputPixels: false }).metadata();
    const stored = { width: metadata.width, height: metadata.height };
    const turn = turnOf(metadata.orientation ?? 1);
    return { format, stored, upright: turnSize(stored, turn), turn, cmyk: metadata.space === 'cmyk' };
  } catch (error) {
    throw decoderFailure(error);
  }
}

function cropped(source: Sharp, crop: Region, stored: Size): Sharp {
  return crop.width === stored.width && crop.height === stored.height ? source : source.extract(crop);
}

/** Size of the whole picture at which the crop is ROUGH_SCALE times what the network takes; undefined: not worth it. */
function roughSize(header: ImageHeader, crop: Size, network: Size): Size | undefined {
  const reduction = Math.min(crop.width / network.width, crop.height / network.height);
  if (header.format !== 'jpeg' || reduction < ROUGH_REDUCTION) return undefined;
  const scale = ROUGH_SCALE / reduction;
  return { width: Math.ceil(header.stored.width * scale), height: Math.ceil(header.stored.height * scale) };
}

/** The same region of the same picture at another size: its edges may lie between pixels. */
function scaleRegion(region: Region, from: Size, to: Size): Region {
  const x = to.width / from.width;
  const y = to.height / from.height;
  return { left: region.left * x, top: region.top * y, width: region.width * x, height: region.height * y };
}

async function pixelsOf(framed: Sharp, header: ImageHeader): Promise<Pixels> {
  try {
    const decoded = await finish(framed, header).toBuffer({ resolveWithObject: true });
    const { width, height, channels } = decoded.info;
    const bytes = header.cmyk ? cmykToRgb(decoded.data) : decoded.data;
    assert(bytes.length === width * height * 3, `the decoder gave ${channels} channels`);
    return { bytes, width, height };
  } catch (error) {
    throw decoderFailure(error);
  }
}

function finish(framed: Sharp, header: ImageHeader): Sharp {
  if (header.cmyk) return framed.pipelineColourspace('cmyk').toColourspace('cmyk').raw();
  return header.format === 'jpeg' ? framed.raw() : framed.flatten({ background: '#ffffff' }).raw();
}

/**
 * Frees the decoder's memory now instead of when a garbage collection finds it: a megabyte for each picture, which would
 * bring such collections about.
 */
function freeMemory(bytes: Uint8Array): void {
  const buffer = bytes.buffer as ArrayBuffer & { transfer(byteLength: number): ArrayBuffer };
  if (bytes.byteLength === buffer.byteLength) buffer.transfer(0);
}

/** The plain formula, as Pillow and browsers without colour management use it: ink k darkens what c, m and y leave. */
function cmykToRgb(cmyk: Uint8Array): Uint8Array {
  const rgb = new Uint8Array((cmyk.length / 4) * 3);
  for (let from = 0, to = 0; from < cmyk.length; from += 4, to += 3) {
    const light = 255 - (cmyk[from + 3] ?? 0);
    rgb[to] = Math.round(((255 - (cmyk[from] ?? 0)) * light) / 255);
    rgb[to + 1] = Math.round(((255 - (cmyk[from + 1] ?? 0)) * light) / 255);
    rgb[to + 2] = Math.round(((255 - (cmyk[from + 2] ?? 0)) * light) / 255);
  }
  return rgb;
}

/** Messages of the library are kept for the log: they name its internals, not what the client should do. */
function decoderFailure(error: unknown): GimbalError {
  const message = error instanceof Error ? error.message : '';
  if (message.includes('exceeds pixel limit')) return tooManyPixels('more');
  return undecodable('its content is broken or cut off', error);
}

function undecodable(reason: string, cause?: unknown): GimbalError {
  const expected = `a complete image in ${ACCEPTED_FORMATS}`;
  return new GimbalError('INVALID_INPUT', `Cannot decode the image: ${reason}, expected ${expected}`, {
    fields: [{ pointer: '', expected, received: `an image that cannot be decoded: ${reason}` }],
    cause,
  });
}

function tooManyPixels(got: string): GimbalError {
  const limit = `at most ${MAX_IMAGE_PIXELS / 1_000_000} million pixels and ${MAX_IMAGE_SIDE} a side`;
  return new GimbalError(
    'INPUT_TOO_LARGE',
    `Cannot decode the image: it has too many pixels, expected ${limit}, got ${got}; scale it down first`,
    { fields: [{ pointer: '', expected: limit, received: got, hint: 'scale the image down first' }] },
  );
}
