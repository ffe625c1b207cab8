import { readFileSync } from 'node:fs';
import { GimbalError, type RemoteSpec } from '@gimbal/core';

/** What every call to a remote engine carries. Never logged, and no part of any message. */
export interface Credentials {
  /** By lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: {
    readonly ca?: Buffer;
    readonly cert?: Buffer;
    readonly key?: Buffer;
    readonly servername?: string;
  };
}

/** Reads secrets and certificates where they lie. Throws MODEL_UNAVAILABLE naming the variable or the kind of file, never what it holds. */
export function readCredentials(
  { headers, tls }: Pick<RemoteSpec, 'headers' | 'tls'>,
  environment: Readonly<Record<string, string | undefined>>,
): Credentials {
  const found: Record<string, string> = {};
  for (const { name, from } of headers) {
    const value = from.kind === 'value' ? from.value : environment[from.variable];
    if (value === undefined || value === '') {
      const variable = from.kind === 'environment' ? from.variable : name;
      throw unavailable(`the environment variable ${variable} is not set, expected the value of "${name}"`);
    }
    if (/[^\x20-\x7e]/.test(value)) {
      throw unavailable(`the value of the header "${name}" has characters that no header may have`);
    }
    found[name.toLowerCase()] = from.kind === 'environment' ? `${from.prefix}${value}` : value;
  }
  return { headers: found, tls: tlsOf(tls) };
}

function tlsOf(tls: RemoteSpec['tls']): Credentials['tls'] {
  if (tls === undefined) return {};
  const { ca, cert, key, serverName } = tls;
  return {
    ...(ca === undefined ? {} : { ca: readPem(ca, 'ca') }),
    ...(cert === undefined ? {} : { cert: readPem(cert, 'cert') }),
    ...(key === undefined ? {} : { key: readPem(key, 'key') }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
}

function readPem(path: string, what: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw unavailable(`the file of remote.tls.${what} can not be read`, error);
  }
}

function unavailable(what: string, cause?: unknown): GimbalError {
  return new GimbalError('MODEL_UNAVAILABLE', `Cannot use the remote engine: ${what}`, { cause });
}
