import { parseDurationMs } from '@gimbal/core/config';
import { InvalidArgumentError } from 'commander';

/** `--top-k 3`. */
export function positiveInteger(written: string): number {
  const value = Number(written);
  if (/^\d{1,9}$/.test(written) && value > 0) return value;
  throw new InvalidArgumentError(`expected an integer above 0, got ${JSON.stringify(written)}`);
}

/** `--threshold 0.4`. */
export function ratio(written: string): number {
  const value = Number(written);
  if (written.trim() !== '' && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError(`expected a number from 0 to 1, got ${JSON.stringify(written)}`);
}

/** `--timeout 30s`, in milliseconds. */
export function durationMs(written: string): number {
  const value = parseDurationMs(written);
  if (value !== undefined && value > 0) return value;
  throw new InvalidArgumentError(`expected a duration such as 500ms or 30s, got ${JSON.stringify(written)}`);
}

/** For flags that may be given several times. */
export function collect(written: string, before: readonly string[]): readonly string[] {
  return [...before, written];
}
