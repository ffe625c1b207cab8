import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const POLL_MS = 10;
const SOURCE = fileURLToPath(new URL('./fake-nvml.c', import.meta.url));

/** The C compiler of this machine; undefined: there is none, and what needs it can't be tested here. */
export const COMPILER = ['cc', 'gcc', 'clang'].find(
  (name) => spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0,
);

/** A compiled stand-in for NVML that does what its file of directives says; see fake-nvml.c. */
export class FakeNvml {
  readonly folder = mkdtempSync(join(tmpdir(), 'gimbal-nvml-'));
  readonly library = join(this.folder, 'libnvidia-ml.so.1');
  readonly #state = join(this.folder, 'state');

  constructor(...directives: readonly string[]) {
    this.set(...directives);
    const define = `-DSTATE_FILE="${this.#state}"`;
    const args = ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', define, '-o', this.library, SOURCE];
    const { status, stderr } = spawnSync(COMPILER ?? 'cc', args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`Cannot compile the fake library: ${stderr}`);
  }

  /** From the next call of the library on. Replaced as a whole, since a monitor reads it at any moment. */
  set(...directives: readonly string[]): void {
    writeFileSync(`${this.#state}.next`, directives.map((line) => `${line}\n`).join(''));
    renameSync(`${this.#state}.next`, this.#state);
  }

  /** Resolves when a call hangs: nobody but the library knows when it does. The test's own limit is its end. */
  async hung(): Promise<void> {
    while (!existsSync(`${this.#state}.hung`)) await sleep(POLL_MS);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A program in the place of `nvidia-smi`, as a shell script. */
export class FakeSmi {
  readonly folder = mkdtempSync(join(tmpdir(), 'gimbal-smi-'));
  readonly program = join(this.folder, 'nvidia-smi');

  constructor(script: string) {
    this.set(script);
  }

  set(script: string): void {
    writeFileSync(`${this.program}.next`, `#!/bin/sh\n${script}\n`);
    chmodSync(`${this.program}.next`, 0o755);
    renameSync(`${this.program}.next`, this.program);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
