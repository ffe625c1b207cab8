import { type FieldError, GimbalError } from '@gimbal/core';

/** INVALID_INPUT about one place: the message says what the field does. */
export function refuseField(action: string, field: FieldError): GimbalError {
  const hint = field.hint === undefined ? '' : `; ${field.hint}`;
  return new GimbalError(
    'INVALID_INPUT',
    `Cannot ${action}: expected ${field.expected}, got ${field.received}${hint}`,
    { fields: [field] },
  );
}
