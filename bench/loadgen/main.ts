import { readFileSync } from 'node:fs';
import { generate } from './generator.ts';
import type { LoadPlan } from './plan.ts';

// Runs one plan (a JSON file) in a process of its own, so that it can be pinned to its own core.
const planFile = process.argv[2];
if (planFile === undefined) {
  process.stderr.write('Usage: node bench/loadgen/main.ts PLAN.json\n');
  process.exit(2);
}
const result = await generate(JSON.parse(readFileSync(planFile, 'utf8')) as LoadPlan);
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
