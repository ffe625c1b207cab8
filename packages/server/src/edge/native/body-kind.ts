import { GimbalError, type VersionSpec } from '@gimbal/core';
import { acceptedTypes, takesImages, takesRawTensor, takesTexts } from '../front/accepted-types.ts';
import { quoted } from '../front/call-headers.ts';
import { imageTypeOf } from './image-signature.ts';
import { type MediaType, parseMediaType, requireUtf8 } from './media-type.ts';

/** What a body holds. `unknown`: nobody said; its first bytes will tell. */
export type BodyKind = 'json' | 'form' | 'image' | 'text' | 'tensor' | 'unknown';

const OPEN_OBJECT = 0x7b;

export interface DeclaredBody {
  readonly kind: BodyKind;
  /** Of a form. */
  readonly boundary: string;
}

const JSON_BODY: DeclaredBody = { kind: 'json', boundary: '' };

/** The kind that Content-Type declares, which the model must be able to take. Throws UNSUPPORTED_MEDIA_TYPE. */
export function declaredBody(header: string | undefined, spec: VersionSpec): DeclaredBody {
  if (header === 'application/json') return JSON_BODY;
  if (header === undefined) return { kind: 'unknown', boundary: '' };
  const type = parseMediaType(header);
  const kind = kindOf(type);
  if (kind === undefined || !takes(spec, kind)) throw unsupportedType(spec, quoted(type.essence));
  if (kind === 'json' || kind === 'text') requireUtf8(type);
  return { kind, boundary: type.parameters.get('boundary') ?? '' };
}

/** The kind of a body without a type, from its first bytes. */
export function sniffedKind(body: Uint8Array, spec: VersionSpec): BodyKind {
  let at = 0;
  while (at < body.length && (body[at] as number) <= 0x20) at += 1;
  if (body[at] === OPEN_OBJECT) return 'json';
  const image = imageTypeOf(body);
  if (image !== undefined && takesImages(spec.task)) return 'image';
  const received = image === undefined ? 'none that tells' : `none that tells (the body looks like ${image})`;
  throw unsupportedType(spec, received);
}

function kindOf({ essence }: MediaType): BodyKind | undefined {
  switch (essence) {
    case 'application/json':
      return 'json';
    case 'multipart/form-data':
      return 'form';
    case 'text/plain':
      return 'text';
    case 'application/octet-stream':
      return 'tensor';
    // What curl says of every body when it is told nothing.
    case 'application/x-www-form-urlencoded':
      return 'unknown';
    default:
      if (essence.startsWith('image/')) return 'image';
      return essence.startsWith('application/') && essence.endsWith('+json') ? 'json' : undefined;
  }
}

function takes(spec: VersionSpec, kind: BodyKind): boolean {
  switch (kind) {
    case 'image':
      return takesImages(spec.task);
    case 'text':
      return takesTexts(spec.task);
    case 'tensor':
      // Many clients send files so: images are told apart by their first bytes.
      return takesRawTensor(spec) || takesImages(spec.task);
    default:
      return true;
  }
}

function unsupportedType(spec: VersionSpec, received: string): GimbalError {
  const types = acceptedTypes(spec);
  const expected = types.join(', ');
  const hint = `send a header such as content-type: ${(types[0] ?? '').replace('image/*', 'image/jpeg')}`;
  return new GimbalError(
    'UNSUPPORTED_MEDIA_TYPE',
    `Cannot read the body: model ${quoted(spec.model)} (${spec.task}) takes ${expected}, got Content-Type ${received}; ${hint}`,
    { fields: [{ pointer: 'header:Content-Type', expected, received, hint }] },
  );
}
