import { ValidationError } from '../errors.ts';

/** `/v1/models/digits`, or `…/versions/2`. */
export function modelPath(api: 'v1' | 'v2', model: string, version: string | undefined): string {
  const path = `/${api}/models/${segment('model', model)}`;
  return version === undefined ? path : `${path}/versions/${segment('version', version)}`;
}

/** URLs take the segments "." and ".." for other paths, however they are written. */
function segment(what: string, name: string): string {
  if (name === '' || name === '.' || name === '..') {
    throw new ValidationError(`Cannot use the ${what} ${JSON.stringify(name)}: expected a name`);
  }
  return encodeURIComponent(name);
}
