/** Nesting of cgroups that is looked through for limits. */
const MAX_CGROUP_DEPTH = 32;

/** The process's place in the hierarchy of a controller, by `/proc/self/cgroup`; "" names the unified one. */
export function cgroupPath(membership: string, controller: string): string {
  for (const line of membership.split('\n')) {
    const [, controllers = '', path = '/'] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controller === '' ? line.startsWith('0::') : controllers.split(',').includes(controller)) return path;
  }
  return '/';
}

/**
 * Folders of a path and of all above it, deepest first, each with a slash at its end. Inside a container the path may be
 * the host's: then only the mount itself is there.
 */
export function cgroupFolders(mount: string, path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.' && part !== '..');
  const depth = Math.min(parts.length, MAX_CGROUP_DEPTH);
  return Array.from({ length: depth + 1 }, (_, index) =>
    [mount, ...parts.slice(0, depth - index), ''].join('/'),
  );
}
