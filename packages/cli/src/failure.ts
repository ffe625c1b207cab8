import { isGimbalError } from '@gimbal/core';
import { EXIT, type ExitCode } from './exit-code.ts';

export interface FailureDetails {
  /** `gimbal.yaml:3:7`, a URL, a flag. */
  readonly where?: string | undefined;
  readonly expected?: string | undefined;
  readonly got?: string | undefined;
  /** What to do, best a command. */
  readonly fix?: string | undefined;
  /** Further lines, each a finding of its own. */
  readonly findings?: readonly string[];
}

/** Why a verb could not do what it was asked; printed once, at the end of the program. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly exitCode: ExitCode;
  readonly details: FailureDetails;

  constructor(exitCode: ExitCode, what: string, details: FailureDetails = {}) {
    super(what);
    this.exitCode = exitCode;
    this.details = details;
  }

  /** For `--json`: one document that says the same. */
  toJSON(): object {
    return { error: { message: this.message, exit_code: this.exitCode, ...this.details } };
  }
}

/** Any thrown value as a failure: our errors say what they are, others are told as they come. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (isGimbalError(error)) return new Failure(exitCodeOf(error.code), error.message);
  return new Failure(EXIT.failure, error instanceof Error ? error.message : String(error));
}

/** Codes of the error registry as exit codes. */
export function exitCodeOf(code: string): ExitCode {
  switch (code) {
    case 'MODEL_NOT_FOUND':
    case 'VERSION_NOT_FOUND':
    case 'ROUTE_NOT_FOUND':
      return EXIT.notFound;
    case 'UNAUTHENTICATED':
    case 'PERMISSION_DENIED':
      return EXIT.denied;
    case 'DEADLINE_EXCEEDED':
    case 'RUNNER_TIMED_OUT':
    case 'BODY_TIMEOUT':
      return EXIT.timeout;
    case 'MODEL_UNAVAILABLE':
      return EXIT.invalid;
    default:
      return EXIT.failure;
  }
}
