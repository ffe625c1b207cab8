import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EXAMPLES, FIXTURES } from '../testing/command-line.ts';
import { gimbalInProcess } from '../testing/in-process.ts';

const DIGITS = join(FIXTURES, 'models', 'digits-mlp', '1', 'model.onnx');

it('inspect shows signature, origin, operators and what would be derived', async () => {
  const { exitCode, stdout, stderr } = await gimbalInProcess(['inspect', DIGITS]);
  expect(exitCode).toBe(0);
  expect(stderr).toBe('');
  expect(stdout).toContain('  pixels         FP32 [batch, 64]\n');
  expect(stdout).toContain('probabilities  FP32 [batch, 10]');
  expect(stdout).toMatch(/format +ONNX IR 8, opsets ai\.onnx 17/);
  expect(stdout).toMatch(/made by +skl2onnx 1\.20\.0/);
  expect(stdout).toMatch(/task +tabular +\(one input of rows with 64 numbers\)/);
  expect(stdout).not.toContain('\u001b[');
});

it('inspect --json is one document with the same', async () => {
  const { exitCode, stdout } = await gimbalInProcess(['inspect', '--json', DIGITS]);
  expect(exitCode).toBe(0);
  expect(stdout.trimEnd()).not.toContain('\n');
  expect(JSON.parse(stdout)).toMatchObject({
    irVersion: 8,
    inputs: [{ name: 'pixels', datatype: 'FP32', shape: [-1, 64] }],
    serving: { task: 'tabular', batchAxis: 'dynamic' },
  });
});

it('inspect reads a file of a version as its version.yaml declares it', async () => {
  const file = join(EXAMPLES, 'models', 'efficientnet', '1', 'lite2.onnx');
  const { stdout } = await gimbalInProcess(['inspect', '--json', file]);
  expect(JSON.parse(stdout).serving.task).toBe('image-classification');
});

it('inspect of a broken file is exit 3 with its reason, of a missing one exit 4', async () => {
  const broken = await gimbalInProcess(['inspect', join(FIXTURES, 'samples/broken-models/opset-999.onnx')]);
  expect(broken.exitCode).toBe(3);
  expect(broken.stdout).toBe('');
  expect(broken.stderr).toMatch(/opset 999/);
  const missing = await gimbalInProcess(['inspect', 'nowhere.onnx', '--json']);
  expect(missing.exitCode).toBe(4);
  expect(JSON.parse(missing.stdout)).toMatchObject({ error: { exit_code: 4, where: 'nowhere.onnx' } });
});

it('inspect of a folder is usage, with a file of it or the verb that reads folders', async () => {
  const version = join(FIXTURES, 'models', 'digits-mlp', '1');
  const one = await gimbalInProcess(['inspect', version]);
  expect(one.exitCode).toBe(2);
  expect(one.stderr).toMatch(
    /expected +an \.onnx file\n +got +a folder\n +fix +gimbal inspect .*model\.onnx\n/,
  );
  const models = await gimbalInProcess(['inspect', 'examples/models', '--json']);
  expect(models.exitCode).toBe(2);
  expect(JSON.parse(models.stdout)).toMatchObject({
    error: { exit_code: 2, where: 'examples/models', fix: 'gimbal check examples/models' },
  });
});
