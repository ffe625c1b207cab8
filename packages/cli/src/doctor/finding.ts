/** What was found out about one thing that Gimbal needs. */
export interface Finding {
  readonly name: string;
  readonly status: 'ok' | 'warn' | 'fail';
  readonly found: string;
  /** What to do, when something is to be done. */
  readonly fix?: string;
}

export function ok(name: string, found: string): Finding {
  return { name, status: 'ok', found };
}

export function warn(name: string, found: string, fix: string): Finding {
  return { name, status: 'warn', found, fix };
}

export function fail(name: string, found: string, fix: string): Finding {
  return { name, status: 'fail', found, fix };
}
