import { NEVER } from '../../base/time.ts';
import { Work, type WorkOptions } from '../work.ts';

/** A work of one row without a deadline; `payload` names it. */
export function aWork(
  payload: string,
  options: Partial<Omit<WorkOptions<string>, 'payload'>> = {},
): Work<string> {
  return new Work<string>({
    version: 'v',
    rows: 1,
    bucket: 'b',
    splittable: false,
    lane: 'default',
    enqueuedAt: 0,
    deadline: NEVER,
    ...options,
    payload,
  });
}
