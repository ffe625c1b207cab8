import { readMonitorOptions } from '../monitor-options.ts';

/** A monitor's program that misbehaves as its option `library` says; for tests of the host. */
const { library: misbehaviour } = readMonitorOptions(process.argv[2]);
process.stdin.on('end', () => {
  if (misbehaviour !== '/dev/stdin') process.exit(0);
});
process.stdin.resume();
// Existing files stand for misbehaviours, since a watch starts nothing for places that are not there.
if (misbehaviour === '/dev/zero') process.stdout.write('x'.repeat(3 * 1024 * 1024));
if (misbehaviour === '/dev/null') process.stdout.write('{"kind":"sample","source":"nvml","devices":[{}]}\n');
if (misbehaviour === '/dev/full') process.exit(0);
setInterval(() => {}, 1000);
