import { GimbalError, type QuarantinedInput } from '@gimbal/core';
import { answerJson, readingRoute } from '../front/simple-answers.ts';
import type { Route } from '../route.ts';

/** What the routes may ask of the inputs that are refused for having crashed a model. */
export interface QuarantinePort {
  quarantined(): readonly QuarantinedInput[];
  /** False when there is none with this fingerprint. */
  releaseInput(fingerprint: string): boolean;
}

export function quarantineRoutes(port: QuarantinePort): Route[] {
  return [
    readingRoute('/admin/v1/quarantine', (request) => answerJson(request, { inputs: port.quarantined() })),
    {
      method: 'POST',
      pattern: '/admin/v1/quarantine/{fingerprint}/release',
      protocol: 'native',
      errors: 'problem',
      run(request) {
        const written = request.parameters.fingerprint ?? '';
        const found = port.quarantined().filter(({ fingerprint }) => fingerprint.startsWith(written));
        const [input] = found;
        if (!input || found.length > 1) {
          throw new GimbalError(
            'ROUTE_NOT_FOUND',
            `Cannot release ${JSON.stringify(written.slice(0, 64))}: ${found.length} inputs have this fingerprint, expected one`,
          );
        }
        port.releaseInput(input.fingerprint);
        answerJson(request, { inputs: port.quarantined() });
      },
    },
  ];
}
