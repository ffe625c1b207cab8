import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileTarget, LineSink } from './line-sink.ts';

/** A reader that takes a text only when the test says so. */
class SlowReader {
  readonly texts: string[] = [];
  #done: ((error?: Error) => void) | undefined;

  readonly target = (text: string, done: (error?: Error | null) => void): void => {
    this.texts.push(text);
    this.#done = done;
  };

  take(error?: Error): void {
    const done = this.#done;
    this.#done = undefined;
    done?.(error);
  }
}

describe('LineSink', () => {
  it('joins the lines that come while a write is underway', async () => {
    const reader = new SlowReader();
    const sink = new LineSink(reader.target);
    sink.write(`${'x'.repeat(20_000)}\n`);
    sink.write('b\n');
    sink.write('c\n');
    expect(reader.texts).toHaveLength(1);
    const closed = sink.close(5_000);
    reader.take();
    reader.take();
    await closed;
    expect(reader.texts[1]).toBe('b\nc\n');
  });

  it('writes a short line by itself after a moment', async () => {
    const texts: string[] = [];
    await new Promise<void>((resolve) => {
      const sink = new LineSink((text, done) => {
        texts.push(text);
        done();
        resolve();
      });
      sink.write('a\n');
      sink.write('b\n');
      expect(texts).toEqual([]);
      // The sink's own timer does not keep a process alive; this one does, for the test.
      setTimeout(resolve, 2_000).unref();
    });
    expect(texts).toEqual(['a\nb\n']);
  });

  it('drops and counts whole lines beyond its bound, and recovers', async () => {
    const reader = new SlowReader();
    const sink = new LineSink(reader.target, 30_000);
    const line = `${'y'.repeat(9_999)}\n`;
    sink.write(`${'x'.repeat(20_000)}\n`);
    for (let index = 0; index < 10; index += 1) sink.write(line);
    expect(sink.dropped).toBe(7);
    reader.take();
    sink.write('after\n');
    expect(sink.dropped).toBe(7);
    const closed = sink.close(5_000);
    reader.take();
    reader.take();
    await closed;
    expect(reader.texts.join('')).toBe(`${'x'.repeat(20_000)}\n${line.repeat(3)}after\n`);
  });

  it('gives up on a reader that is gone, and counts what follows', async () => {
    const reader = new SlowReader();
    const sink = new LineSink(reader.target);
    sink.write(`${'x'.repeat(20_000)}\n`);
    reader.take(new Error('EPIPE'));
    sink.write('lost\n');
    expect(sink.dropped).toBe(1);
    await sink.close(5_000);
  });

  it('stops waiting at the limit when the reader takes nothing', async () => {
    const sink = new LineSink(() => {});
    sink.write('never\n');
    await sink.close(10);
    sink.write('too late\n');
    expect(sink.dropped).toBe(1);
  });
});

describe('fileTarget', () => {
  it('keeps every line, in order', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gimbal-log-'));
    const path = join(folder, 'log');
    const fd = openSync(path, 'a');
    const sink = new LineSink(fileTarget(fd));
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index} é\n`);
    for (const line of lines) sink.write(line);
    await sink.close(10_000);
    closeSync(fd);
    expect(readFileSync(path, 'utf8')).toBe(lines.join(''));
    rmSync(folder, { recursive: true });
  });
});

describe('streamTarget', () => {
  it('lets a process exit whose log reader has stopped reading', async () => {
    const script = `
      const { LineSink, streamTarget } = await import(${JSON.stringify(join(import.meta.dirname, 'line-sink.ts'))});
      const sink = new LineSink(streamTarget(process.stderr));
      for (let index = 0; index < 50_000; index += 1) sink.write('x'.repeat(200) + '\\n');
      await sink.close(100);
      process.stdout.write(String(sink.dropped > 0));
      process.exit(0);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stderr.pause();
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    const code = await new Promise((resolve) => child.once('exit', resolve));
    child.stderr.destroy();
    expect(code).toBe(0);
    expect(output).toBe('true');
  });
});
