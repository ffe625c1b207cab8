import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { report } from '../repository/finding.ts';
import { ROOT, readSourceFiles } from '../repository/source-files.ts';
import { checkLayers } from './check.ts';
import { readLaw } from './layer-law.ts';
import { workspaceExports } from './workspace-exports.ts';

const law = readLaw(readFileSync(join(ROOT, 'layers.json'), 'utf8'));
const files = readSourceFiles(ROOT);
process.exitCode = report('check-layers', checkLayers({ law, files, exports: workspaceExports(ROOT) }));
