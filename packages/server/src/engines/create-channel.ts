import type { Clock, RemoteSpec } from '@gimbal/core';
import type { ChannelFactory } from './channel.ts';
import type { Credentials } from './credentials.ts';
import { HttpTransport } from './http-transport.ts';
import { ChatChannel } from './openai/chat-channel.ts';
import { EmbeddingsChannel } from './openai/embeddings-channel.ts';
import type { Timers } from './timers.ts';
import { GrpcChannel } from './v2-grpc/grpc-channel.ts';
import { RestChannel } from './v2-rest/rest-channel.ts';

/** Channels in the protocol of a version. */
export function channelsOf(
  spec: RemoteSpec,
  { credentials, timers, clock }: { credentials: Credentials; timers: Timers; clock: Clock },
): ChannelFactory {
  const { connectTimeoutMs, maxResponseBytes } = spec;
  const maxConnections = spec.concurrency === 'auto' ? spec.maxConcurrency : spec.concurrency;
  const transport = (address: string): HttpTransport =>
    new HttpTransport({ address, maxConnections, connectTimeoutMs, maxResponseBytes, credentials, timers });
  switch (spec.protocol) {
    case 'v2-rest':
      return (address) => new RestChannel(transport(address), spec);
    case 'v2-grpc':
      return (address) => new GrpcChannel(address, { spec, credentials, clock });
    case 'openai-embeddings':
      return (address) => new EmbeddingsChannel(transport(address), spec);
    case 'openai-chat':
      return (address) => new ChatChannel(transport(address), spec);
  }
}
