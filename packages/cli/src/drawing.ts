import { accessSync, constants, statSync } from 'node:fs';
import { dirname, extname, resolve } from 'node:path';
import sharp from 'sharp';
import { nameOf, type Prediction, percentText } from './answer-text.ts';
import { EXIT } from './exit-code.ts';
import { Failure } from './failure.ts';

/** Colours that can be told apart on photographs, one for each class. */
const COLOURS = ['#ff3b30', '#34c759', '#0a84ff', '#ffcc00', '#bf5af2', '#ff9f0a', '#64d2ff', '#ff2d92'];
const MAX_DRAWN = 500;
/** Of one prediction; faces have five. */
const MAX_LANDMARKS = 100;
const FORMATS = ['.png', '.jpg', '.jpeg', '.webp', '.avif'];

/** Refuses early a file that could not be written at the end, when the answer is there. */
export function checkDrawingTarget(file: string, cwd: string): void {
  if (FORMATS.includes(extname(file).toLowerCase())) {
    requireWritable(file, cwd);
    return;
  }
  throw new Failure(EXIT.usage, 'Cannot draw: the kind of picture is not known', {
    where: `--draw ${file}`,
    expected: `a file name that ends in ${FORMATS.join(', ')}`,
    got: extname(file) || 'no ending',
  });
}

function requireWritable(file: string, cwd: string): void {
  const path = resolve(cwd, file);
  const where = `--draw ${file}`;
  const folder = statSync(dirname(path), { throwIfNoEntry: false });
  if (!folder?.isDirectory()) {
    throw new Failure(EXIT.notFound, 'Cannot draw: there is no folder for the picture', {
      where,
      expected: `a folder ${dirname(file)}`,
      got: folder === undefined ? 'nothing' : 'a file',
      fix: `mkdir -p ${dirname(file)}`,
    });
  }
  const target = statSync(path, { throwIfNoEntry: false });
  if (target?.isDirectory()) {
    throw new Failure(EXIT.usage, 'Cannot draw: a folder has the name of the picture', {
      where,
      expected: 'the name of a file',
      got: 'a folder',
    });
  }
  try {
    accessSync(target === undefined ? dirname(path) : path, constants.W_OK);
  } catch {
    throw new Failure(EXIT.denied, "Cannot draw: the picture can't be written", {
      where,
      expected: 'a place that may be written to',
      got: 'no permission',
    });
  }
}

/** The upright picture with boxes, landmarks and names on it; predictions without boxes become a list in the corner. */
export async function draw(
  picture: Uint8Array,
  predictions: readonly Prediction[],
  file: string,
): Promise<void> {
  const upright = await sharp(picture).rotate().toBuffer({ resolveWithObject: true });
  const { width, height } = upright.info;
  const overlay = Buffer.from(overlaySvg(predictions.slice(0, MAX_DRAWN), { width, height }));
  try {
    await sharp(upright.data)
      .composite([{ input: overlay, left: 0, top: 0 }])
      .toFile(file);
  } catch (error) {
    throw new Failure(EXIT.failure, "Cannot draw: the picture can't be written", {
      where: file,
      got: error instanceof Error ? error.message : String(error),
    });
  }
}

export function overlaySvg(
  predictions: readonly Prediction[],
  { width, height }: { width: number; height: number },
): string {
  const line = Math.max(2, Math.round(Math.min(width, height) / 200));
  const font = Math.max(11, line * 6);
  const boxes = predictions.filter(({ bbox }) => bbox?.length === 4);
  const drawn =
    boxes.length > 0
      ? boxes.map((prediction) => boxSvg(prediction, { line, font, width }))
      : predictions.map((prediction, index) => captionSvg(prediction, { index, font }));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${drawn.join('')}</svg>`;
}

function boxSvg(
  prediction: Prediction,
  { line, font, width }: { line: number; font: number; width: number },
): string {
  const [left = 0, top = 0, right = 0, bottom = 0] = prediction.bbox ?? [];
  const colour = COLOURS[Math.abs(prediction.class_id ?? 0) % COLOURS.length] ?? '#ff3b30';
  const text = captionOf(prediction);
  // Half the font's size is about the mean width of a letter.
  const plate = Math.min(width, text.length * font * 0.58 + font * 0.6);
  const plateTop = top >= font * 1.4 ? top - font * 1.4 : top;
  const plateLeft = Math.max(0, Math.min(left, width - plate));
  return (
    `<rect x="${left}" y="${top}" width="${Math.max(0, right - left)}" height="${Math.max(0, bottom - top)}" ` +
    `fill="none" stroke="${colour}" stroke-width="${line}"/>` +
    `<rect x="${plateLeft}" y="${plateTop}" width="${plate}" height="${font * 1.4}" fill="${colour}"/>` +
    textSvg(text, { x: plateLeft + font * 0.3, y: plateTop + font * 1.05, font }) +
    pointsSvg(prediction.landmarks ?? [], { line, colour })
  );
}

/** Eyes, nose and the like as dots, ringed so that they are seen on any background. */
function pointsSvg(landmarks: readonly number[], { line, colour }: { line: number; colour: string }): string {
  const points = Array.from({ length: Math.min(MAX_LANDMARKS, landmarks.length >> 1) }, (_, index) => ({
    x: landmarks[2 * index] ?? 0,
    y: landmarks[2 * index + 1] ?? 0,
  }));
  return points
    .map(
      ({ x, y }) =>
        `<circle cx="${x}" cy="${y}" r="${line * 1.5}" fill="#ffffff" stroke="${colour}" stroke-width="${line / 2}"/>`,
    )
    .join('');
}

function captionSvg(prediction: Prediction, { index, font }: { index: number; font: number }): string {
  const text = captionOf(prediction);
  const top = font * (0.4 + index * 1.5);
  const plate = text.length * font * 0.58 + font * 0.6;
  return (
    `<rect x="${font * 0.4}" y="${top}" width="${plate}" height="${font * 1.4}" fill="#000000" fill-opacity="0.6"/>` +
    textSvg(text, { x: font * 0.7, y: top + font * 1.05, font })
  );
}

function textSvg(text: string, { x, y, font }: { x: number; y: number; font: number }): string {
  return `<text x="${x}" y="${y}" font-family="sans-serif" font-size="${font}" fill="#ffffff">${escapeXml(text)}</text>`;
}

function captionOf(prediction: Prediction): string {
  const { confidence = 0 } = prediction;
  return `${nameOf(prediction)} ${confidence >= 0.01 ? `${(confidence * 100).toFixed(0)} %` : percentText(confidence)}`;
}

/** Labels come from files and servers: they must not become markup. */
function escapeXml(text: string): string {
  const safe = Array.from(text, (letter) => ((letter.codePointAt(0) ?? 0) < 32 ? ' ' : letter)).join('');
  return safe
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
