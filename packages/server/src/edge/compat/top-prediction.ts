import type { PartOutput } from '@gimbal/core';

/**
 * The part with `class_id`, `label`, `confidence` and `bbox` of its best prediction in front of its own members; as it
 * is when it has no list of predictions. Nothing was found: they are null.
 */
export function withTopPrediction(part: PartOutput): PartOutput {
  if (part.kind !== 'answer') return part;
  const members: unknown = JSON.parse(`{${Buffer.from(part.json).toString('utf8')}}`);
  const predictions = predictionsOf(members);
  if (!predictions) return part;
  const [best] = predictions;
  const top = {
    class_id: memberOf(best, 'class_id'),
    label: memberOf(best, 'label'),
    confidence: memberOf(best, 'confidence'),
    bbox: memberOf(best, 'bbox'),
  };
  const rendered = JSON.stringify(top).slice(1, -1);
  return { kind: 'answer', json: Buffer.concat([Buffer.from(`${rendered},`), part.json]) };
}

function predictionsOf(members: unknown): readonly unknown[] | undefined {
  const predictions = memberOf(members, 'predictions');
  return Array.isArray(predictions) ? predictions : undefined;
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return null;
  return (value as Readonly<Record<string, unknown>>)[name] ?? null;
}
