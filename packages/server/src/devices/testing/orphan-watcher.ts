import { WatchHarness } from './watch-harness.ts';

/** A host that is going to be killed while its monitor runs or hangs; prints the monitor's process id. */
const [library = ''] = process.argv.slice(2);
const harness = new WatchHarness({ places: { library }, limits: { silenceMs: 60_000 } });
harness.watch.start();
await harness.reached('watching');
process.stdout.write(`${harness.watch.pid}\n`);
setInterval(() => {}, 1000);
