import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { TensorSpec } from '@gimbal/core';
import { describeByteSize } from '@gimbal/core/config';
import {
  type OnnxModel,
  Repository,
  readOnnxModel,
  type VersionReading,
  versionDefaults,
} from '@gimbal/server';
import type { Command } from 'commander';
import { defaultConfiguration } from '../configuration-file.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import type { Terminal } from '../terminal.ts';
import type { Verb } from '../verb.ts';

/** Operators named one by one; the rest is summed up. */
const SHOWN_OPERATORS = 12;

interface Options {
  readonly json: boolean;
}

export const inspect: Verb = {
  define(command: Command, run) {
    command
      .argument('<file>', 'an .onnx file')
      .option('--json', 'print one JSON document', false)
      .action((file: string, options: Options) =>
        run(async (context) => {
          const path = resolve(context.cwd, file);
          requireFile(path, file);
          const model = await readOnnxModel(path);
          const reading = await readAsVersion(path);
          const terminal = context.terminal(options);
          if (options.json) terminal.printJson(describe(model, reading));
          else printModel(terminal, model, reading);
          return EXIT.ok as ExitCode;
        }, options),
      );
  },
};

/** Fails with exit code 4 when nothing is there, and 2 for a folder, with a file in it that could be meant. */
function requireFile(path: string, shown: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    throw new Failure(EXIT.notFound, 'Cannot inspect the file: there is no such file', {
      where: shown,
      expected: 'an .onnx file',
      got: 'nothing',
      fix: `gimbal check ${dirname(shown)}`,
    });
  }
  if (!found.isDirectory()) return;
  const model = readdirSync(path)
    .filter((name) => name.endsWith('.onnx'))
    .sort()[0];
  throw new Failure(EXIT.usage, 'Cannot inspect a folder: one model at a time is looked at', {
    where: shown,
    expected: 'an .onnx file',
    got: 'a folder',
    fix: model === undefined ? `gimbal check ${shown}` : `gimbal inspect ${join(shown, model)}`,
  });
}

/** What would be served: the version that the file belongs to when it says so, else the bare file. */
async function readAsVersion(path: string): Promise<VersionReading | undefined> {
  const folder = dirname(path);
  const target = existsSync(join(folder, 'version.yaml')) ? folder : path;
  const { versions } = await new Repository(target, versionDefaults(defaultConfiguration())).read();
  return versions[0];
}

function describe(model: OnnxModel, reading: VersionReading | undefined): object {
  const { externalFiles, ...rest } = model;
  return {
    ...rest,
    externalFiles: externalFiles.map(({ location, byteLength }) => ({ location, byteLength })),
    serving: reading?.ok
      ? {
          task: reading.spec.task,
          batchAxis: reading.spec.signature.batchAxis,
          derivations: reading.spec.derivations,
          notes: reading.notes,
        }
      : { problems: reading?.problems ?? [] },
  };
}

function printModel(terminal: Terminal, model: OnnxModel, reading: VersionReading | undefined): void {
  const { bold, dim } = terminal.colours;
  const opsets = model.operatorSets
    .filter(({ domain }) => domain === '' || model.operators.some((operator) => operator.domain === domain))
    .map(({ domain, version }) => `${domain === '' ? 'ai.onnx' : domain} ${version}`);
  const { name, version } = model.producer;
  terminal.print(`${bold('Inputs')}`);
  const width = Math.max(0, ...[...model.inputs, ...model.outputs].map((tensor) => tensor.name.length));
  for (const tensor of model.inputs) terminal.print(`  ${describeTensor(tensor, { model, width })}`);
  terminal.print(`${bold('Outputs')}`);
  for (const tensor of model.outputs) terminal.print(`  ${describeTensor(tensor, { model, width })}`);
  terminal.print(bold('Model'));
  const made = name === '' ? 'unknown' : `${name} ${version}`.trim();
  const { initializers } = model;
  const facts = [
    ['format', `ONNX IR ${model.irVersion}, opsets ${opsets.join(', ')}`],
    ['made by', made],
    ['size', describeByteSize(model.byteLength)],
    ['weights', `${describeByteSize(initializers.byteLength)} in ${initializers.count} tensors`],
    ['operators', describeOperators(model)],
    ...model.externalFiles.map(({ location, byteLength }) => [
      'external',
      `${location}, ${describeByteSize(byteLength)}`,
    ]),
  ];
  for (const [key = '', value = ''] of facts) terminal.print(`  ${dim(key.padEnd(10))} ${value}`);
  printServing(terminal, reading);
}

function printServing(terminal: Terminal, reading: VersionReading | undefined): void {
  if (reading === undefined) return;
  const { bold, dim, yellow } = terminal.colours;
  terminal.print(bold('Served as'));
  if (!reading.ok) {
    terminal.print(`  ${yellow('not servable')}: ${reading.error.message}`);
    return;
  }
  const width = Math.max(0, ...reading.spec.derivations.map(({ field }) => field.length));
  const values = Math.max(0, ...reading.spec.derivations.map(({ value }) => value.length));
  for (const { field, value, because } of reading.spec.derivations) {
    terminal.print(`  ${field.padEnd(width)}  ${value.padEnd(values)}  ${dim(`(${because})`)}`);
  }
  for (const note of reading.notes) terminal.print(`  ${yellow('note')}: ${note}`);
}

function describeTensor(tensor: TensorSpec, { model, width }: { model: OnnxModel; width: number }): string {
  const axes = tensor.shape.map((length, index) => (length < 0 ? (tensor.axisNames[index] ?? '?') : length));
  const shape = model.unknownRanks.includes(tensor.name) ? '(any shape)' : `[${axes.join(', ')}]`;
  return `${tensor.name.padEnd(width)}  ${tensor.datatype} ${shape}`;
}

function describeOperators({ operators, operatorTotal }: OnnxModel): string {
  const shown = operators
    .slice(0, SHOWN_OPERATORS)
    .map(({ domain, name, count }) => `${domain === '' ? '' : `${domain}.`}${name} ${count}`);
  const rest = operators.length - shown.length;
  return `${operatorTotal}: ${shown.join(', ')}${rest > 0 ? ` and ${rest} more kinds` : ''}`;
}
