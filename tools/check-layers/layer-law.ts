/** One layer of the law. Paths are relative to the root; a file belongs to the layer with the longest matching folder. */
export interface Layer {
  readonly name: string;
  readonly folder: string;
  /** Layers that it may import, by name; its own files always. */
  readonly imports: readonly string[];
  /** npm packages that it may import. */
  readonly packages: readonly string[];
  /** Built-in modules of Node, without `node:`; `*` for all. */
  readonly node: readonly string[];
  /** Guarded globals that it may use: file inside the layer, or `*` → names. These files are the drivers. */
  readonly drivers: Readonly<Record<string, readonly string[]>>;
  /** Files inside the layer that may import a module whose name is computed. */
  readonly computedImports: readonly string[];
}

/** layers.json, read. */
export interface LayerLaw {
  readonly layers: readonly Layer[];
  /** Clocks, timers, randomness, process and console: only drivers may use them. */
  readonly guardedGlobals: readonly string[];
  /** npm packages that every test may import besides those of its layer. */
  readonly testPackages: readonly string[];
}

/** Parses and checks layers.json itself: unknown keys, unknown names, cycles. Throws with all faults in the message. */
export function readLaw(text: string): LayerLaw {
  const raw = JSON.parse(text) as Record<string, unknown>;
  const layers = (raw.layers as Partial<Layer>[]).map((layer) => ({
    name: String(layer.name),
    folder: String(layer.folder),
    imports: layer.imports ?? [],
    packages: layer.packages ?? [],
    node: layer.node ?? [],
    drivers: layer.drivers ?? {},
    computedImports: layer.computedImports ?? [],
  }));
  const law: LayerLaw = {
    layers,
    guardedGlobals: raw.guardedGlobals as string[],
    testPackages: raw.testPackages as string[],
  };
  const faults = [...unknownKeys(raw), ...unknownNames(law), ...cycles(layers)];
  if (faults.length > 0) throw new Error(`Cannot use layers.json: ${faults.join('; ')}`);
  return law;
}

export function layerOf(law: LayerLaw, path: string): Layer | undefined {
  return law.layers
    .filter(({ folder }) => path === folder || path.startsWith(`${folder}/`))
    .sort((left, right) => right.folder.length - left.folder.length)[0];
}

/** `server/edge/v2` belongs to the workspace `server`. */
export function workspaceOf(layer: Layer): string {
  return layer.name.split('/')[0] ?? layer.name;
}

/** Tests and the fakes and builders made for them. */
export function isTestFile(path: string): boolean {
  return /\.test\.ts$/.test(path) || /(^|\/)(testing|tests)\//.test(path) || /\/src\/testing\.ts$/.test(path);
}

function unknownKeys(raw: Record<string, unknown>): string[] {
  const known = ['name', 'folder', 'imports', 'packages', 'node', 'drivers', 'computedImports'];
  const top = Object.keys(raw).filter(
    (key) => !['about', 'layers', 'guardedGlobals', 'testPackages'].includes(key),
  );
  const inner = (raw.layers as Record<string, unknown>[]).flatMap((layer) =>
    Object.keys(layer)
      .filter((key) => !known.includes(key))
      .map((key) => `${String(layer.name)}.${key}`),
  );
  return [...top, ...inner].map((key) => `unknown key ${JSON.stringify(key)}`);
}

function unknownNames({ layers, guardedGlobals }: LayerLaw): string[] {
  const names = new Set(layers.map(({ name }) => name));
  const faults = layers.flatMap((layer) =>
    layer.imports
      .filter((name) => !names.has(name))
      .map((name) => `${layer.name} imports the unknown layer ${JSON.stringify(name)}`),
  );
  const globals = layers.flatMap((layer) =>
    Object.values(layer.drivers)
      .flat()
      .filter((name) => name !== '*' && !guardedGlobals.includes(name))
      .map((name) => `${layer.name} grants the unknown global ${JSON.stringify(name)}`),
  );
  if (names.size !== layers.length) faults.push('two layers have one name');
  return [...faults, ...globals];
}

/** The law must be an order: a layer that may, by whatever way, import itself is no layer. */
function cycles(layers: readonly Layer[]): string[] {
  const byName = new Map(layers.map((layer) => [layer.name, layer]));
  return layers
    .filter(({ name }) => importsOf(byName, name).has(name))
    .map(({ name }) => `${name} imports itself through other layers`);
}

/** All layers that a layer may reach through its imports. */
export function importsOf(byName: ReadonlyMap<string, Layer>, name: string): Set<string> {
  const reached = new Set<string>();
  const open = [...(byName.get(name)?.imports ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    open.push(...(byName.get(next)?.imports ?? []));
  }
  return reached;
}
