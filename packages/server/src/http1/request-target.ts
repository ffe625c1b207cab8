/** Where a request goes. */
export interface RequestTarget {
  readonly path: string;
  /** Without "?"; "" when there is none. */
  readonly query: string;
}

const SLASH = 0x2f;
/** Scheme and authority (RFC 3986, 3.2) without user information, which RFC 9110, 4.2.4 has refused. */
const ABSOLUTE_FORM = /^https?:\/\/[\w\-.~!$&'()*+,;=:%[\]]+(?=[/?]|$)/i;

/**
 * Path and query of a request target (RFC 9112, 3.2): origin-form, absolute-form (which servers must accept), and `*` of
 * OPTIONS. Undefined for anything else, such as the authority-form of CONNECT: this is no proxy.
 */
export function parseTarget(target: string, method: string): RequestTarget | undefined {
  if (target.charCodeAt(0) === SLASH) return split(target);
  if (target === '*') return method === 'OPTIONS' ? { path: '*', query: '' } : undefined;
  const origin = ABSOLUTE_FORM.exec(target);
  if (!origin) return undefined;
  const { path, query } = split(target.slice(origin[0].length));
  return { path: path === '' ? '/' : path, query };
}

function split(target: string): RequestTarget {
  const queryAt = target.indexOf('?');
  if (queryAt < 0) return { path: target, query: '' };
  return { path: target.slice(0, queryAt), query: target.slice(queryAt + 1) };
}
