import { isBuiltin } from 'node:module';
import { posix } from 'node:path';
import type { Finding } from '../repository/finding.ts';
import type { SourceFile } from '../repository/source-files.ts';
import { globalUses } from './global-uses.ts';
import { importsOf, isTestFile, type Layer, type LayerLaw, layerOf, workspaceOf } from './layer-law.ts';
import { moduleUses, parseSource } from './source-imports.ts';

export interface Checkout {
  readonly law: LayerLaw;
  readonly files: readonly SourceFile[];
  /** Published entry → file. */
  readonly exports: ReadonlyMap<string, string>;
}

/** A module that a file uses, with everything that a rule may ask about it. */
interface Import {
  readonly from: Layer;
  readonly file: string;
  readonly line: number;
  readonly specifier: string;
  readonly inTest: boolean;
}

/** Everything that breaks the law. */
export function checkLayers(checkout: Checkout): Finding[] {
  return [
    ...emptyLayers(checkout),
    ...checkout.files.flatMap((file) => {
      const layer = layerOf(checkout.law, file.path);
      if (!layer) {
        return [finding(file.path, 0, 'belongs to no layer: add its folder to layers.json')];
      }
      return checkFile(checkout, file, layer);
    }),
  ];
}

/** Folders that are gone must leave the law, or it rots. */
function emptyLayers({ law, files }: Checkout): Finding[] {
  return law.layers
    .filter(({ folder }) => !files.some(({ path }) => path.startsWith(`${folder}/`)))
    .map(({ name, folder }) =>
      finding('layers.json', 0, `layer ${name}: there are no sources in ${folder}: remove or mend it`),
    );
}

function checkFile(checkout: Checkout, file: SourceFile, from: Layer): Finding[] {
  const source = parseSource(file);
  const inTest = isTestFile(file.path);
  const imports = moduleUses(source).flatMap(({ specifier, line }) => {
    if (specifier === undefined) {
      return inTest || from.computedImports.includes(file.path.slice(from.folder.length + 1))
        ? []
        : [finding(file.path, line, 'import() of an expression: no checker can follow it; name the module')];
    }
    return checkImport(checkout, { from, file: file.path, line, specifier, inTest });
  });
  return inTest ? imports : [...imports, ...checkGlobals(checkout, from, { file, source })];
}

function checkImport(checkout: Checkout, use: Import): Finding[] {
  const { specifier } = use;
  if (specifier.startsWith('.')) {
    return checkFileImport(checkout, use, posix.join(posix.dirname(use.file), specifier));
  }
  const published = checkout.exports.get(specifier);
  if (published !== undefined) return checkFileImport(checkout, use, published);
  if (isBuiltin(specifier)) return checkBuiltin(use);
  return checkPackage(checkout, use);
}

function checkFileImport({ law }: Checkout, use: Import, target: string): Finding[] {
  const to = layerOf(law, target);
  if (!to) return [broken(use, `imports ${target}, which belongs to no layer`)];
  if (!use.inTest && isTestFile(target)) {
    return [broken(use, `imports ${target}, which is made for tests: move what is needed out of it`)];
  }
  if (to === use.from) return [];
  // Packages are published apart; tests, tools and benches never leave the checkout.
  const published = use.from.folder.startsWith('packages/') && workspaceOf(to) !== workspaceOf(use.from);
  if (published && use.specifier.startsWith('.')) {
    return [broken(use, `reaches into workspace ${workspaceOf(to)} by path: import its package by name`)];
  }
  if (use.inTest ? layersForTests(law, use.from).includes(to) : use.from.imports.includes(to.name)) return [];
  const allowed = use.from.imports.join(', ') || 'no other layer';
  return [
    broken(
      use,
      `imports layer ${to.name}; it may import ${allowed}. Move the code, pass the thing in through a port, or change layers.json with an ADR`,
    ),
  ];
}

/** Tests may see all layers of their own workspace and of the workspaces that it builds on, and use their packages. */
function layersForTests(law: LayerLaw, from: Layer): Layer[] {
  const byName = new Map(law.layers.map((layer) => [layer.name, layer]));
  const family = law.layers.filter((layer) => workspaceOf(layer) === workspaceOf(from));
  const reached = new Set(
    family.flatMap((layer) =>
      [layer.name, ...importsOf(byName, layer.name)].map((name) => name.split('/')[0]),
    ),
  );
  return law.layers.filter((layer) => reached.has(workspaceOf(layer)));
}

function checkBuiltin(use: Import): Finding[] {
  const name = use.specifier.replace(/^node:/, '');
  if (!use.specifier.startsWith('node:'))
    return [broken(use, `imports a built-in module: write "node:${name}"`)];
  if (use.inTest || use.from.node.includes('*') || use.from.node.includes(name)) return [];
  const allowed = use.from.node.join(', ') || 'none';
  return [
    broken(
      use,
      `imports node:${name}; granted built-in modules: ${allowed}. Grant it in layers.json if it belongs here`,
    ),
  ];
}

function checkPackage({ law }: Checkout, use: Import): Finding[] {
  const parts = use.specifier.split('/');
  const name = use.specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
  const granted = use.inTest
    ? [...law.testPackages, ...layersForTests(law, use.from).flatMap(({ packages }) => packages)]
    : use.from.packages;
  if (granted.includes(name)) return [];
  return [
    broken(
      use,
      `imports package ${name}; granted packages: ${granted.join(', ') || 'none'}. A runtime dependency needs an ADR and a grant in layers.json`,
    ),
  ];
}

function checkGlobals(
  { law }: Checkout,
  layer: Layer,
  { file, source }: { file: SourceFile; source: ReturnType<typeof parseSource> },
): Finding[] {
  const inside = file.path.slice(layer.folder.length + 1);
  const granted = [...(layer.drivers['*'] ?? []), ...(layer.drivers[inside] ?? [])];
  if (granted.includes('*')) return [];
  return globalUses(source, law.guardedGlobals)
    .filter(({ name }) => !granted.includes(name))
    .map(({ name, line }) =>
      finding(
        file.path,
        line,
        `[${layer.name}] uses ${name}, which only drivers may: take it as an argument or a port (Clock, Random), or name the file as a driver in layers.json`,
      ),
    );
}

function broken(use: Import, message: string): Finding {
  return finding(use.file, use.line, `[${use.from.name}] ${message} (import of "${use.specifier}")`);
}

function finding(path: string, line: number, message: string): Finding {
  return { path, line, message };
}
