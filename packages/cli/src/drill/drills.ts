import { nearestName } from '@gimbal/core';
import { EXIT } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import type { Drill } from './drill.ts';
import { clientFlood, overload, slowDevice } from './load-drills.ts';
import { deviceLoss, diskFull, modelCorrupt, restartUnderLoad } from './outside-drills.ts';
import { memoryLeak, poison, runnerHang, runnerKill } from './runner-drills.ts';

export const DRILLS: readonly Drill[] = [
  runnerKill,
  runnerHang,
  poison,
  overload,
  slowDevice,
  deviceLoss,
  memoryLeak,
  diskFull,
  modelCorrupt,
  clientFlood,
  restartUnderLoad,
];

/** Fails with a usage error and the nearest name. */
export function drillNamed(name: string): Drill {
  const found = DRILLS.find((drill) => drill.name === name);
  if (found) return found;
  const names = DRILLS.map((drill) => drill.name);
  const near = nearestName(name, names);
  throw new Failure(EXIT.usage, `Cannot run the drill ${JSON.stringify(name)}: there is none of that name`, {
    expected: `one of ${names.join(', ')}`,
    got: name,
    fix: near === undefined ? 'gimbal drill --list' : `did you mean ${JSON.stringify(near)}?`,
  });
}
