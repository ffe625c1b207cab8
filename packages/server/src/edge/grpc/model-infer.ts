import type { handleUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import type { EdgePorts } from '../route.ts';
import { answerMetadata } from './answer-metadata.ts';
import type { Fronts } from './call-front.ts';
import { failedStatus } from './failure.ts';
import type { OutgoingMessage } from './infer-answer.ts';
import { InferRun } from './infer-run.ts';

/** `ModelInfer`: one request, one answer. */
export function modelInfer(ports: EdgePorts, fronts: Fronts): handleUnaryCall<Buffer, OutgoingMessage> {
  return (call, respond: sendUnaryData<OutgoingMessage>) => {
    const front = fronts.get(call.metadata);
    if (!front) throw new Error('a call of this service passes the front');
    const { report, requestId } = front;
    const run = new InferRun(
      ports,
      { context: front.context, report, final: () => undefined },
      {
        answered: (answer, made) => {
          call.sendMetadata(answerMetadata(requestId, { ...made, totalMs: report.totalMs() }));
          report.ok(answer.byteLength, made.how);
          // The library copies the answer into its frame before it returns; should it put that off one day, or the
          // client have left, the memory is no longer needed all the same.
          respond(null, answer);
          if (!answer.copied) answer.detach();
          run.close();
        },
        failed: (error) => {
          report.failed(error);
          respond(failedStatus(error, requestId, ports.random));
        },
      },
    );
    call.once('cancelled', () => run.close());
    run.start(call.request);
  };
}
