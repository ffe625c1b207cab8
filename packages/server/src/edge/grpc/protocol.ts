import { fileURLToPath } from 'node:url';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { loadSync, type PackageDefinition } from '@grpc/proto-loader';

const PROTOS = fileURLToPath(new URL('./protos', import.meta.url));

export const INFERENCE_SERVICE = 'inference.GRPCInferenceService';
export const HEALTH_SERVICE = 'grpc.health.v1.Health';

/** A message as the loader's codec has it: names as in the proto file, defaults filled in, enums and longs as text. */
export type Message = Readonly<Record<string, unknown>>;

/** The services and messages of the proto files beside this one; all but the hot path is read and written by them. */
export function loadProtocol(): PackageDefinition {
  return loadSync(['grpc_service.proto', 'health.proto'], {
    includeDirs: [PROTOS],
    keepCase: true,
    longs: String,
    enums: String,
    defaults: true,
    oneofs: true,
  });
}

/** The methods of one service by their names. */
export function methodsOf(
  definition: PackageDefinition,
  service: string,
): Readonly<Record<string, MethodDefinition<Message, Message>>> {
  const found = definition[service];
  if (found === undefined || 'format' in found) throw new Error(`${service} is not in the proto files`);
  return found as unknown as ServiceDefinition<Record<string, never>> as unknown as Readonly<
    Record<string, MethodDefinition<Message, Message>>
  >;
}
