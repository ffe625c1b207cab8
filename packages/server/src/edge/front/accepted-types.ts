import type { Task, VersionSpec } from '@gimbal/core';

/** What bodies a version's predict route takes. */

export function takesImages(task: Task): boolean {
  return task === 'image-classification' || task === 'object-detection';
}

export function takesTexts(task: Task): boolean {
  return task === 'text-embedding' || task === 'text-classification';
}

/** Whether raw little-endian bytes can be this model's input. */
export function takesRawTensor({ signature, task }: VersionSpec): boolean {
  if (task === 'object-detection' || takesTexts(task)) return false;
  return signature.inputs.length === 1 && signature.inputs[0]?.datatype !== 'BYTES';
}

/** Content types that a version takes, for messages and documents. */
export function acceptedTypes(spec: VersionSpec): readonly string[] {
  const types = ['application/json', 'multipart/form-data'];
  if (takesImages(spec.task)) types.unshift('image/*');
  if (takesTexts(spec.task)) types.unshift('text/plain');
  if (takesRawTensor(spec)) types.push('application/octet-stream');
  return types;
}
