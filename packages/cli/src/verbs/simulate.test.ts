import { describe, expect, it } from 'vitest';
import { gimbalInProcess } from '../testing/in-process.ts';

const QUESTION = ['simulate', '--model', 'efficientnet', '--rate', '20', '--spike', '10x'];

describe('gimbal simulate', () => {
  it('draws each second and says what came of it', async () => {
    const { exitCode, stdout, stderr } = await gimbalInProcess(QUESTION);
    expect(stderr).toBe('');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('  24s ');
    expect(stdout).toMatch(/answered by +lite4 [\d.]+ %, lite2 [\d.]+ %, lite0 [\d.]+ %/);
    expect(stdout).toContain('all hold (seed 1)');
  });

  it('--json is one document, the same for the same seed', async () => {
    const [one, other] = [
      await gimbalInProcess([...QUESTION, '--json']),
      await gimbalInProcess([...QUESTION, '--json']),
    ];
    const { scenario, requests, good, seconds } = JSON.parse(one.stdout) as Record<string, unknown>;
    expect(scenario).toBe('efficientnet');
    expect(requests).toBeGreaterThan(2000);
    expect(good).toBeGreaterThan(1000);
    expect(seconds).toBeInstanceOf(Array);
    expect(one.stdout).toBe(other.stdout);
  });

  it('answers more in time with a later deadline', async () => {
    const goodWithin = async (deadline: string): Promise<number> => {
      const args = ['simulate', '--model', 'image', '--rate', '120', '--spike', '1.2x', '--json'];
      const { stdout } = await gimbalInProcess([...args, '--deadline', deadline]);
      return (JSON.parse(stdout) as { good: number }).good;
    };
    expect(await goodWithin('2s')).toBeGreaterThan(await goodWithin('30ms'));
  });

  it.each([
    [['--model', 'eficientnet'], 'did you mean "efficientnet"?'],
    [['--model', 'image', '--spike', 'tenfold'], 'expected a multiple such as 10x'],
    [['--model', 'image', '--rate', '100000', '--spike', '10x'], 'Cannot simulate so many requests'],
    [['--model', 'image', '--runners', '1000'], 'Cannot simulate so many runners'],
    [[], '--model'],
  ])('with %j is a usage error that says what is expected', async (args, expected) => {
    const { exitCode, stdout, stderr } = await gimbalInProcess(['simulate', ...args]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(expected);
    expect(stdout).toBe('');
  });
});
