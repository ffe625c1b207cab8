import { AnswerCache, DeviceFleet, type LadderReport, type WorkDone } from '@gimbal/core';
import type { Configuration } from '@gimbal/core/config';
import { type BoardRunner, DeviceBoard } from '../devices/device-board.ts';
import type { DeviceReading } from '../devices/device-reading.ts';
import type { Log } from '../telemetry/log.ts';
import type { GuardRows } from '../telemetry/resilience-metrics.ts';
import { MemoryWatch } from './memory-watch.ts';
import { PoisonGuard } from './poison-guard.ts';
import { systemClock, systemRandom } from './system-ports.ts';

export interface GuardsOptions {
  readonly cache: Configuration['cache'];
  readonly log: Log;
  readonly environment: NodeJS.ProcessEnv;
  /** For the trend of the host's own memory. */
  readonly host: () => { readonly requests: number; readonly residentBytes: number };
  /** What runs where, for whoever looks at devices. */
  readonly runners: () => readonly BoardRunner[];
}

/** What watches over the whole server rather than over one version. */
export class Guards {
  /** Kept answers of all versions that say `cache: true`. */
  readonly answers: AnswerCache<WorkDone>;
  readonly poison = new PoisonGuard(systemClock);
  readonly memory: MemoryWatch;
  readonly devices: DeviceBoard;

  constructor(options: GuardsOptions) {
    this.answers = new AnswerCache(options.cache);
    this.memory = this.#watchMemory(options);
    this.devices = watchDevices(options);
  }

  /** For metrics. */
  rows(ladders: readonly LadderReport[]): GuardRows {
    const { quarantine } = this.poison;
    const { level, reading } = this.memory;
    return {
      cache: this.answers.counters,
      quarantine: { inputs: quarantine.size, hits: quarantine.hits },
      memory: { level, usedBytes: reading.usedBytes, limitBytes: reading.limitBytes },
      ladders,
    };
  }

  start(): void {
    this.memory.start();
    this.devices.start();
  }

  async stop(): Promise<void> {
    this.memory.stop();
    await this.devices.stop();
  }

  #watchMemory({ log, host }: GuardsOptions): MemoryWatch {
    return new MemoryWatch({
      clock: systemClock,
      host,
      onGrowth: ({ kind, bytesPerRequest, because }) =>
        log.warn('Memory of the host grows', {
          verdict: kind,
          bytes_per_request: Math.round(bytesPerRequest),
          reason: because,
        }),
      onLevel: ({ level, from, reading }) => {
        if (level === 'critical') this.answers.clear();
        const facts = { level, from, used_bytes: reading.usedBytes, limit_bytes: reading.limitBytes };
        if (level === 'calm') log.info('Memory is calm again', facts);
        else log.warn('Memory is short: work is shed before the kernel kills', facts);
      },
    });
  }
}

function watchDevices({ log, environment, runners }: GuardsOptions): DeviceBoard {
  return new DeviceBoard({
    watch: {
      clock: systemClock,
      random: systemRandom,
      environment,
      onTrouble: (reason) => log.warn('Trouble with the device monitor', { reason }),
    },
    fleet: new DeviceFleet<DeviceReading>({ random: systemRandom }),
    runners,
    onMonitor: (state) => log.debug('The device monitor has a new state', { ...state }),
    onChange: ({ uuid, index, from, to, because }) =>
      log.warn('A device has a new state', { device: index, uuid, from, to, because }),
  });
}
