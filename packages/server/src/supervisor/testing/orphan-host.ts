import { PoolHarness } from './pool-harness.ts';
import { sampleVersion } from './sample-version.ts';
import { int64 } from './tensor-bytes.ts';

/** A host that is going to be killed while its runner computes for minutes; prints the runner's process id. */
const harness = new PoolHarness(sampleVersion('sequence-slow'));
const id = await harness.runner();
harness.run(id, [{ tensors: [{ bytes: int64(1_000_000), shape: [1, 1] }] }], 1e9);
process.stdout.write(`${harness.pool.views[0]?.pid}\n`);
setInterval(() => {}, 1000);
