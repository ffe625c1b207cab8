import type { EdgePorts, EdgeRequest } from '../route.ts';
import { infer } from './infer.ts';
import { unsupported, type V2Route, v2Routes } from './v2-route.ts';

export function inferRoutes(ports: EdgePorts): V2Route[] {
  const run = (request: EdgeRequest): void => {
    const { model = '', version } = request.parameters;
    infer(ports, request, ports.inference.resolve(model, version));
  };
  return v2Routes('POST', '/v2/models/{model}', [
    ['/infer', run],
    ['/generate', unsupported('generate text: no served model does')],
    ['/generate_stream', unsupported('generate text: no served model does')],
  ]);
}
