import { z } from 'zod';
import { TASKS } from '../contract/model.ts';
import { wrongPreferredSizes } from './configuration.ts';
import { mapping, optionalField, requiredField } from './field.ts';
import { boolean, choice, decimal, integer, perChannel, text, texts } from './leaf.ts';
import { declaredBatching, declaredDeadline, declaredRunners } from './model-sections.ts';
import { declaredRemote } from './remote-section.ts';

/** A variant for each rung of the ladder; nobody has tuned more. */
const MAX_VARIANTS = 16;
const MAX_IMAGE_SIDE = 16_384;
const MAX_TOKENS = 1_048_576;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

const side = integer({ min: 1, max: MAX_IMAGE_SIDE });
const freeSize = mapping({
  multipleOf: requiredField(integer({ min: 1, max: 1_024 }), {
    description: 'Both sides are rounded up to a multiple of this many pixels.',
  }),
  maxSide: requiredField(integer({ min: 16, max: MAX_IMAGE_SIDE }), {
    description: 'A longer side is scaled down to this many pixels first.',
  }),
});
const SIZE = `[width, height] in pixels from 1 to ${MAX_IMAGE_SIDE}, or { multipleOf: 32, maxSide: 1280 }`;
const sizeSchema = z.union([z.tuple([side, side]), freeSize], { error: SIZE });

/** How pictures become tensors; what is left out is derived from the model's input. */
export const declaredImage = mapping({
  size: optionalField(sizeSchema, {
    description: 'Size of the network’s input: [width, height], or any size in multiples.',
  }),
  crop: optionalField(choice(['centre', 'none']), {
    description:
      '`centre`: a centred square of `cropRatio` of the shorter side; `none`: the picture is stretched.',
  }),
  cropRatio: optionalField(decimal({ min: 0.01, max: 1 }), {
    description: 'Side of the centred square, as a share of the shorter side.',
  }),
  resize: optionalField(choice(['bicubic', 'bilinear', 'nearest']), { description: 'Filter of the resize.' }),
  colour: optionalField(choice(['rgb', 'bgr', 'grey']), { description: 'Order of the channels.' }),
  layout: optionalField(choice(['nchw', 'nhwc']), { description: 'Order of the tensor’s axes.' }),
  mean: optionalField(perChannel({ min: -1e6, max: 1e6 }), {
    description: 'Taken from each value (0 to 255), by channel.',
  }),
  std: optionalField(perChannel({ min: 1e-6, max: 1e6 }), {
    description: 'Divides each value after that, by channel.',
  }),
});

const declaredText = mapping({
  tokenizer: optionalField(text('the name of a tokenizer.json inside the version’s folder'), {
    description: 'A tokenizer.json of Hugging Face.',
  }),
  maxTokens: optionalField(integer({ min: 2, max: MAX_TOKENS }), {
    description: 'Texts are cut at this many tokens, special tokens included.',
  }),
  padId: optionalField(integer({ min: 0, max: 2_147_483_647 }), {
    description: 'Token that fills short rows.',
  }),
  pooling: optionalField(choice(['auto', 'mean', 'cls', 'none']), {
    description:
      'How token vectors become one; `auto` only where the graph’s output still has a sequence axis.',
  }),
  normalise: optionalField(boolean(), { description: 'Whether pooled vectors are scaled to length 1.' }),
});

const declaredDetection = mapping({
  decoder: optionalField(choice(['centerface']), { description: 'How raw outputs become boxes.' }),
  scoreThreshold: optionalField(decimal({ min: 0, max: 1 }), {
    description: 'Boxes below this score are dropped.',
  }),
  nmsIou: optionalField(decimal({ min: 0, max: 1 }), {
    description: 'Of two boxes that overlap more than this, the better stays.',
  }),
  maxBoxes: optionalField(integer({ min: 1, max: 10_000 }), { description: 'Most boxes of one picture.' }),
});

const declaredClassification = mapping({
  activation: optionalField(choice(['auto', 'softmax', 'sigmoid', 'none']), {
    description: 'What turns scores into confidences; `auto`: softmax unless they already sum to 1.',
  }),
  topK: optionalField(integer({ min: 1, max: 10_000 }), {
    description: 'Classes in an answer that asks for no number.',
  }),
});

const NAMED = 'a name of letters, digits, ".", "_" and "-", at most 64 long';
const declaredVariant = mapping({
  name: requiredField(text(NAMED).regex(NAME, { error: NAMED }), { description: 'Name of the variant.' }),
  file: requiredField(text('the name of an .onnx file inside the version’s folder'), {
    description: 'Its .onnx file.',
  }),
  quality: optionalField(decimal({ min: 0, max: 1 }), {
    description: 'Declared quality, such as its accuracy; for the ladder.',
  }),
  image: optionalField(declaredImage, { description: 'What differs from the version’s `image`.' }),
});

const LABELS = 'the name of a file with one label a line, or a list of labels';
const VARIANTS = `a list of 1 to ${MAX_VARIANTS} variants, best first`;

const REPEATABLE =
  'Whether a request may be run again when its runner was lost; `false` only where a run has effects outside. Default: true.';
const CACHE =
  'Whether equal requests get the same answer from memory; costs a SHA-256 over each input. Default: false.';

const shape = {
  task: optionalField(choice(TASKS), {
    description: 'What the model is for; decides pre- and post-processing.',
  }),
  labels: optionalField(z.union([text(LABELS), texts('labels')], { error: LABELS }), {
    description: 'Class names in the order of the scores.',
  }),
  columns: optionalField(texts('column names'), {
    description: 'Names of a tabular model’s columns, in order.',
  }),
  image: optionalField(declaredImage, { description: 'How pictures become tensors.' }),
  text: optionalField(declaredText, { description: 'How texts become tokens.' }),
  detection: optionalField(declaredDetection, { description: 'How outputs become boxes.' }),
  classification: optionalField(declaredClassification, { description: 'How outputs become classes.' }),
  variants: optionalField(
    z
      .array(declaredVariant, { error: VARIANTS })
      .min(1, { error: VARIANTS })
      .max(MAX_VARIANTS, { error: VARIANTS }),
    { description: 'The degradation ladder, best first.' },
  ),
  remote: optionalField(declaredRemote, {
    description: 'The model runs in someone else’s server; the folder has no model file then.',
  }),
  golden: optionalField(text('the name of a file inside the version’s folder'), {
    description: 'Inputs with expected outputs. Kept with the version; not run yet.',
  }),
  batching: optionalField(declaredBatching, {
    description: 'Overrides `batching` of gimbal.yaml and model.yaml.',
  }),
  runners: optionalField(declaredRunners, {
    description: 'Overrides `runners` of gimbal.yaml and model.yaml.',
  }),
  deadline: declaredDeadline,
  nonFiniteOutputs: optionalField(choice(['error', 'allow']), {
    description: 'Whether NaN and Infinity in a float output are an error.',
  }),
  repeatable: optionalField(boolean(), { description: REPEATABLE }),
  cache: optionalField(boolean(), { description: CACHE }),
};

/** version.yaml: what one version is. Immutable with its artefacts. */
export const versionFileSchema = mapping(shape).superRefine((declared, context) => {
  const issues = [...wrongPreferredSizes(declared.batching ?? {}), ...repeatedNames(declared.variants ?? [])];
  for (const { path, expected, got } of issues) {
    context.addIssue({ code: 'custom', path: [...path], message: expected, params: { got } });
  }
});

export type VersionFile = z.output<typeof versionFileSchema>;
export type DeclaredImage = z.output<typeof declaredImage>;

/** The version.yaml that says nothing. */
export const EMPTY_VERSION_FILE: VersionFile = {};

const SERVED = 'all, latest, or a list of version numbers';

/** model.yaml: what holds for all versions of a model and may change while it is served. */
export const modelFileSchema = mapping({
  versions: optionalField(
    z.union([z.enum(['all', 'latest']), z.array(integer({ min: 1, max: Number.MAX_SAFE_INTEGER }))], {
      error: SERVED,
    }),
    {
      description: 'Which versions are served: `all` (the default), `latest`, or a list of numbers.',
      reloadable: true,
    },
  ),
  batching: optionalField(declaredBatching, {
    description: 'Default batching of its versions.',
    reloadable: true,
  }),
  runners: optionalField(declaredRunners, {
    description: 'Default runners of its versions.',
    reloadable: true,
  }),
  deadline: declaredDeadline,
  nonFiniteOutputs: optionalField(choice(['error', 'allow']), {
    description: 'Whether NaN and Infinity in a float output are an error.',
    reloadable: true,
  }),
  repeatable: optionalField(boolean(), { description: REPEATABLE, reloadable: true }),
  cache: optionalField(boolean(), { description: CACHE, reloadable: true }),
}).superRefine((declared, context) => {
  for (const { path, expected, got } of wrongPreferredSizes(declared.batching ?? {})) {
    context.addIssue({ code: 'custom', path: [...path], message: expected, params: { got } });
  }
});

export type ModelFile = z.output<typeof modelFileSchema>;

function repeatedNames(variants: readonly { readonly name: string }[]) {
  return variants.flatMap(({ name }, index) =>
    variants.findIndex((variant) => variant.name === name) < index
      ? [
          {
            path: ['variants', index, 'name'],
            expected: 'a name that no other variant has',
            got: JSON.stringify(name),
          },
        ]
      : [],
  );
}
