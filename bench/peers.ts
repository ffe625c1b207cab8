import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Peer name → folder that its set-up makes under $BENCH_PEERS. */
const VENVS: Readonly<Record<string, string>> = {
  seed: 'seed',
  gunicorn2: 'seed',
  mosec: 'mosec',
  litserve: 'litserve',
  bentoml: 'bentoml',
  mlserver: 'mlserver',
  triton: 'pytriton',
  pytriton: 'pytriton-deb',
  ray: 'ray',
};

/**
 * Runs the other servers of a peers folder (`run.py bare`, `run.py closed`, `report.py`): their own jobs, bodies and bare
 * runs, pinned to the same cores. Only those whose set-up has been done take part; the rest are named.
 */
export async function runPeers(folder: string, say: (line: string) => void): Promise<void> {
  const script = join(folder, 'run.py');
  if (!existsSync(script))
    throw new Error(`Cannot run peers: ${script} is not there, expected a folder with run.py`);
  const home = process.env.BENCH_PEERS ?? join(tmpdir(), 'peers');
  const installed = Object.keys(VENVS).filter((peer) => existsSync(join(home, VENVS[peer] as string)));
  const missing = Object.keys(VENVS).filter((peer) => !installed.includes(peer));
  say(`Peers installed: ${installed.join(', ') || 'none'}; not installed: ${missing.join(', ') || 'none'}`);
  if (installed.length === 0) return;
  const results = mkdtempSync(join(tmpdir(), 'gimbal-peers-'));
  await python([script, 'bare', '--out', results], folder);
  await python(
    [script, 'closed', '--mode', 'onecore', '--peers', installed.join(','), '--out', results],
    folder,
  );
  await python([join(folder, 'report.py'), results], folder);
}

function python(args: readonly string[], cwd: string): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn('python3', [...args], { cwd, stdio: 'inherit' });
    child.on('error', fail);
    child.on('close', (code) =>
      code === 0
        ? done()
        : fail(new Error(`Cannot run peers: ${args[0]} ended with code ${code}, expected 0`)),
    );
  });
}
