/** What scripts may rely on; the same for every verb. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  /** Configuration or models are wrong. */
  invalid: 3,
  notFound: 4,
  conflict: 5,
  unreachable: 6,
  timeout: 7,
  denied: 8,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_HELP = `Exit codes: 0 ok, 1 failure, 2 usage, 3 configuration or models wrong, 4 not found, 5 conflict, 6 unreachable, 7 timeout, 8 denied`;
