import type { Attempt } from '../channel.ts';
import type { HttpTransport } from '../http-transport.ts';
import { failureOf, parsed } from '../v2-rest/rest-channel.ts';

/** Whether an address names the API's own path (`https://api.example/v1`); else it is below `/v1`. */
export function apiPath(address: string): string {
  return new URL(address).pathname === '/' ? '/v1' : '';
}

/** Posts a document and gives back the answer's, both parsed and as it came. */
export async function postJson(
  transport: HttpTransport,
  call: { path: string; document: unknown },
  attempt: Attempt,
): Promise<{ document: unknown; body: Buffer }> {
  const answer = await transport.call(
    {
      method: 'POST',
      path: call.path,
      headers: {
        'content-type': 'application/json',
        'inference-timeout-ms': Math.max(1, Math.floor(attempt.timeoutMs)),
      },
      body: [Buffer.from(JSON.stringify(call.document))],
    },
    attempt,
  );
  if (answer.status !== 200) throw failureOf(answer);
  return { document: parsed(answer.body), body: answer.body };
}

/** The list of models is what all servers of this API have; gateways list only some of what they route to. */
export async function probeModels(transport: HttpTransport, path: string, attempt: Attempt): Promise<void> {
  const answer = await transport.call({ method: 'GET', path, headers: {}, body: [] }, attempt);
  if (answer.status !== 200) throw failureOf(answer);
}
