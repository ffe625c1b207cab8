import { resolve } from 'node:path';
import type { Command } from 'commander';
import { type PredictAnswer, printAnswer } from '../answer-text.ts';
import { checkDrawingTarget, draw } from '../drawing.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Failure } from '../failure.ts';
import { collect, durationMs, positiveInteger, ratio } from '../flag-value.ts';
import { type InferInput, type InferParameters, readInputs, toBody } from '../infer-input.ts';
import { addJsonFlags, type JsonFlags } from '../json-flags.ts';
import { ServerClient, serverUrl } from '../server-client.ts';
import type { Verb, VerbContext } from '../verb.ts';

const USUAL_TIMEOUT_MS = 30_000;

/** The client waits a little longer than the server works, so that the server's own word is heard. */
const PATIENCE_MS = 2_000;

interface Options extends JsonFlags {
  readonly file: readonly string[];
  readonly text: readonly string[];
  readonly data?: string;
  readonly type?: string;
  readonly url?: string;
  readonly modelVersion?: string;
  readonly topK?: number;
  readonly threshold?: number;
  readonly timeout: number;
  readonly draw?: string;
}

export const infer: Verb = {
  define(command: Command, run) {
    command
      .argument('<model>', 'the model to ask')
      .argument('[input]', 'a file, or - for standard input')
      .option(
        '-f, --file <file>',
        'a picture, text, JSON or raw tensor; several pictures or texts at once',
        collect,
        [],
      )
      .option('-t, --text <text>', 'a text; may be given several times', collect, [])
      .option('-d, --data <json>', 'JSON: an input, or a whole request; @file and - are read')
      .option('--type <media type>', 'what the file is, when its content does not tell')
      .option('--url <url>', 'address of the server (default: GIMBAL_URL, else http://127.0.0.1:8000)')
      .option('--model-version <version>', 'a version instead of the latest')
      .option('--top-k <n>', 'most classes in the answer', positiveInteger)
      .option('--threshold <ratio>', 'least confidence in the answer', ratio)
      .option('--timeout <duration>', 'the longest that an answer may take', durationMs, USUAL_TIMEOUT_MS)
      .option('--draw <file>', 'write the picture with boxes, landmarks and names to this file');
    addJsonFlags(command, 'the result of an input').action(
      (model: string, input: string | undefined, options: Options) =>
        run((context) => predict({ model, input }, options, context), options),
    );
  },
};

async function predict(
  { model, input }: { model: string; input: string | undefined },
  options: Options,
  context: VerbContext,
): Promise<ExitCode> {
  const terminal = context.terminal(options);
  const client = new ServerClient(serverUrl(options.url, context.environment), options.timeout + PATIENCE_MS);
  if (options.draw !== undefined) checkDrawingTarget(options.draw, context.cwd);
  const files = input === undefined ? options.file : [...options.file, input];
  const sources = { files, texts: options.text, json: options.data, contentType: options.type };
  const inputs = await readInputs(sources, context);
  const picture = options.draw === undefined ? undefined : onlyPicture(inputs);
  const { body, contentType } = toBody(inputs, parametersOf(options));
  const version =
    options.modelVersion === undefined ? '' : `/versions/${encodeURIComponent(options.modelVersion)}`;
  const work = client.requestOfModel(model, {
    method: 'POST',
    path: `/v1/models/${encodeURIComponent(model)}${version}/predict`,
    headers: {
      'inference-timeout-ms': String(options.timeout),
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
    },
    body,
  });
  const answer = (await terminal.during(`Asking ${model}`, work)).body as PredictAnswer;
  if (terminal.isJson) terminal.printJsonList(answer.results ?? [answer], answer);
  else printAnswer(terminal, answer);
  if (options.draw !== undefined && picture !== undefined) {
    await draw(picture.bytes, answer.predictions ?? [], resolve(context.cwd, options.draw));
    terminal.say(`drawn into ${options.draw}`);
  }
  return EXIT.ok;
}

function onlyPicture(inputs: readonly InferInput[]): InferInput {
  const [first] = inputs;
  if (inputs.length === 1 && first?.contentType.startsWith('image/')) return first;
  throw new Failure(EXIT.usage, 'Cannot draw: there is nothing to draw on', {
    where: '--draw',
    expected: 'one picture as the input',
    got: inputs.map(({ contentType }) => contentType).join(', '),
    fix: 'give one picture with -f',
  });
}

function parametersOf({ topK, threshold }: Options): InferParameters {
  return {
    ...(topK === undefined ? {} : { top_k: topK }),
    ...(threshold === undefined ? {} : { threshold }),
  };
}
