import { assert } from '@gimbal/core';
import type { Route } from '../route.ts';
import { percentDecoded } from './percent-text.ts';

/** Paths whose match is remembered; when it is full it starts anew, so strange paths can't fill memory. */
const MAX_REMEMBERED = 1024;

/** Longer paths are matched but not remembered. */
const MAX_REMEMBERED_LENGTH = 256;

/** A path that has routes, with its parameters decoded. */
export interface PathMatch {
  readonly get: Route | undefined;
  readonly post: Route | undefined;
  readonly parameters: Readonly<Record<string, string>>;
}

interface PathNode {
  readonly literals: Map<string, PathNode>;
  parameter: PathNode | undefined;
  get: Route | undefined;
  post: Route | undefined;
}

/**
 * Finds the routes of a path: one segment at a time, literals before parameters. The same few paths come thousands of
 * times a second, so matches are remembered by the raw path.
 */
export class PathTable {
  readonly #root: PathNode = emptyNode();
  readonly #remembered = new Map<string, PathMatch>();

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#add(route);
  }

  /** Undefined when nothing is at the path. Throws MALFORMED_REQUEST for broken percent-encoding. */
  match(path: string): PathMatch | undefined {
    const remembered = this.#remembered.get(path);
    if (remembered) return remembered;
    if (!path.startsWith('/')) return undefined;
    const segments = path.slice(1).split('/');
    const node = nodeAt(this.#root, segments, 0);
    if (!node) return undefined;
    const match = { get: node.get, post: node.post, parameters: parametersOf(node, segments) };
    if (path.length <= MAX_REMEMBERED_LENGTH) {
      if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
      this.#remembered.set(path, match);
    }
    return match;
  }

  #add(route: Route): void {
    assert(route.pattern.startsWith('/'), `pattern ${route.pattern} begins with "/"`);
    let node = this.#root;
    for (const segment of route.pattern.slice(1).split('/')) {
      if (isParameter(segment)) {
        node.parameter ??= emptyNode();
        node = node.parameter;
      } else {
        let next = node.literals.get(segment);
        if (!next) {
          next = emptyNode();
          node.literals.set(segment, next);
        }
        node = next;
      }
    }
    const taken = route.method === 'GET' ? node.get : node.post;
    assert(taken === undefined, `only one route is ${route.method} ${route.pattern}`);
    if (route.method === 'GET') node.get = route;
    else node.post = route;
  }
}

/** Recursion is as deep as the longest pattern. */
function nodeAt(node: PathNode, segments: readonly string[], index: number): PathNode | undefined {
  const segment = segments[index];
  if (segment === undefined) return node.get || node.post ? node : undefined;
  const literal = node.literals.get(segment);
  const found = literal && nodeAt(literal, segments, index + 1);
  if (found) return found;
  return node.parameter && segment !== '' ? nodeAt(node.parameter, segments, index + 1) : undefined;
}

function parametersOf(node: PathNode, segments: readonly string[]): Readonly<Record<string, string>> {
  const pattern = (node.get ?? node.post)?.pattern ?? '/';
  const parameters: Record<string, string> = {};
  pattern
    .slice(1)
    .split('/')
    .forEach((segment, index) => {
      if (isParameter(segment)) {
        parameters[segment.slice(1, -1)] = percentDecoded(segments[index] ?? '', 'path');
      }
    });
  return parameters;
}

function isParameter(segment: string): boolean {
  return segment.startsWith('{') && segment.endsWith('}');
}

function emptyNode(): PathNode {
  return { literals: new Map(), parameter: undefined, get: undefined, post: undefined };
}
