import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KernelKills } from './kernel-kills.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gimbal-'));
  file = join(folder, 'memory.events');
});

afterEach(() => rmSync(folder, { recursive: true }));

function write(kills: number): void {
  writeFileSync(file, `low 0\nhigh 12\nmax 7\noom 9\noom_kill ${kills}\noom_group_kill 0\n`);
}

describe('KernelKills', () => {
  it('sees a kill since the last look, until it has looked again', () => {
    write(3);
    const kills = new KernelKills([file]);
    expect(kills.killedSince).toBe(false);
    write(4);
    expect(kills.killedSince).toBe(true);
    kills.look();
    expect(kills.killedSince).toBe(false);
  });

  it('reads the first file that counts, and not one that has other lines only', () => {
    const other = join(folder, 'other');
    writeFileSync(other, 'pgfault 1\n');
    write(1);
    const kills = new KernelKills([join(folder, 'none'), other, file]);
    write(2);
    expect(kills.killedSince).toBe(true);
  });

  it('sees nothing where nothing can be read', () => {
    expect(new KernelKills([join(folder, 'none')]).killedSince).toBe(false);
  });
});
