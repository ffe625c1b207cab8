import type { Command } from 'commander';
import { loadConfiguration } from '../configuration-file.ts';
import type { Finding } from '../doctor/finding.ts';
import { fileWatches, memory, nodeVersion, nvidia, openFiles, processors } from '../doctor/machine.ts';
import { images, onnxRuntime, transport } from '../doctor/native-parts.ts';
import { ports } from '../doctor/network.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { addJsonFlags, type JsonFlags } from '../json-flags.ts';
import type { Terminal } from '../terminal.ts';
import type { Verb, VerbContext } from '../verb.ts';

interface Options extends JsonFlags {
  readonly config?: string;
}

export const doctor: Verb = {
  define(command: Command, run) {
    command.option('--config <file>', 'the configuration whose ports and limits are looked at');
    addJsonFlags(command, 'a finding').action((options: Options) =>
      run((context) => examine(options, context), options),
    );
  },
};

async function examine(options: Options, context: VerbContext): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const findings = await terminal.during('Looking at this machine', gather(options, context));
  const failed = findings.filter(({ status }) => status === 'fail').length;
  if (terminal.isJson) terminal.printJsonList(findings, { ok: failed === 0, findings });
  else for (const finding of findings) printFinding(terminal, finding);
  const warned = findings.filter(({ status }) => status === 'warn').length;
  if (failed > 0) terminal.say(`\n${failed} of ${findings.length} checks failed: see "fix"`);
  else
    terminal.say(
      `\nGimbal runs here${warned > 0 ? `, with ${warned} ${warned === 1 ? 'remark' : 'remarks'}` : ''}`,
    );
  return failed > 0 ? EXIT.failure : EXIT.ok;
}

async function gather({ config }: Options, { cwd, environment }: VerbContext): Promise<Finding[]> {
  const { configuration } = await loadConfiguration({ cwd, environment, file: config, flags: {} });
  const [runtime, pictures, free] = await Promise.all([onnxRuntime(), images(), ports(configuration)]);
  return [
    nodeVersion(),
    runtime,
    pictures,
    transport(),
    processors(),
    memory(),
    nvidia(),
    openFiles(configuration.limits.maxConnections),
    fileWatches(),
    ...free,
  ];
}

function printFinding(terminal: Terminal, { name, status, found, fix }: Finding): void {
  const { green, yellow, red, cyan, bold } = terminal.colours;
  const marks = { ok: green('ok  '), warn: yellow('warn'), fail: red('fail') };
  terminal.print(`${marks[status]}  ${bold(name.padEnd(12))} ${found}`);
  if (fix !== undefined) terminal.print(`      ${' '.repeat(12)} ${cyan(`fix: ${fix}`)}`);
}
