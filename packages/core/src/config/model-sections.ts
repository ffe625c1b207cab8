import { field, mapping, optionalField, section } from './field.ts';
import { boolean, byteSize, duration, integer, integerOrAuto, integers } from './leaf.ts';

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Most rows in one run, and most sizes to prefer among them. */
const MAX_BATCH_ROWS = 4_096;
const MAX_PREFERRED_SIZES = 16;

const batchingLeaves = {
  maxSize: integerOrAuto({ min: 1, max: MAX_BATCH_ROWS }),
  maxDelay: duration({ minMs: 0, maxMs: MINUTE_MS, unit: 'in-value' }),
  preferredSizes: integers({ min: 1, max: MAX_BATCH_ROWS, maxItems: MAX_PREFERRED_SIZES }),
};

const runnersLeaves = {
  count: integer({ min: 1, max: 256 }),
  threads: integerOrAuto({ min: 1, max: 1_024 }),
  spare: integer({ min: 0, max: 1 }),
  recycleBatches: integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  recycleAge: duration({ minMs: 0, maxMs: 365 * DAY_MS, unit: 'in-value' }),
  recycleGrowth: byteSize({ min: 0, max: 1024 * 1024 * MIB }),
};

const DESCRIPTIONS = {
  maxSize: 'Most rows in one run. `auto` measures at load where a larger batch stops paying.',
  maxDelay:
    'The longest that a row is kept waiting for companions. It waits only where a batch is measured to pay.',
  preferredSizes: 'Sizes at which a batch is closed at once, ascending.',
  count: 'Runner processes of each variant.',
  threads: 'Threads inside one run. `auto` shares the cores and the cgroup quota among the runners.',
  spare:
    'Further runners of each variant that are loaded and take no work: one takes over at once when another is lost. 0 or 1.',
  recycleBatches: 'Batches after which a runner is replaced; 0 for never.',
  recycleAge: 'Age at which a runner is replaced; 0 for never.',
  recycleGrowth: 'Growth of resident memory since warm-up at which a runner is replaced; 0 for never.',
  deadline: 'Deadline of requests that bring none.',
} as const;

const deadlineLeaf = duration({ minMs: 1, maxMs: DAY_MS, unit: 'in-value' });

/** `batching` of gimbal.yaml: the default of every version. */
export const batchingSection = section(
  'Default batching of every model; model.yaml and version.yaml may say otherwise.',
  {
    maxSize: field(batchingLeaves.maxSize, {
      default: 'auto',
      description: DESCRIPTIONS.maxSize,
      reason: 'Whether batching pays differs by model and machine, and is measured in a second.',
    }),
    maxDelay: field(batchingLeaves.maxDelay, {
      default: 5,
      description: DESCRIPTIONS.maxDelay,
      reason: 'Below what a person notices, enough to gather a batch at 1,000 requests a second.',
    }),
    preferredSizes: field(batchingLeaves.preferredSizes, {
      default: [],
      description: DESCRIPTIONS.preferredSizes,
      reason: 'Only few engines have sizes that they run best.',
    }),
  },
);

/** `runners` of gimbal.yaml: the default of every version. */
export const runnersSection = section('Default runner processes of every model.', {
  count: field(runnersLeaves.count, {
    default: 1,
    description: DESCRIPTIONS.count,
    reason: 'One process uses all cores through its threads; more pay on many cores and cost memory.',
  }),
  threads: field(runnersLeaves.threads, {
    default: 'auto',
    description: DESCRIPTIONS.threads,
    reason: "The runtime's own default ignores cgroups and starves in containers.",
  }),
  spare: field(runnersLeaves.spare, {
    default: 0,
    description: DESCRIPTIONS.spare,
    reason: 'It costs the memory of one more runner, and saves a model load after a crash.',
  }),
  recycleBatches: field(runnersLeaves.recycleBatches, {
    default: 0,
    description: DESCRIPTIONS.recycleBatches,
    reason: '200,000 runs of the runtime showed no leak.',
  }),
  recycleAge: field(runnersLeaves.recycleAge, {
    default: 0,
    description: DESCRIPTIONS.recycleAge,
    reason: 'Age alone is no fault.',
  }),
  recycleGrowth: field(runnersLeaves.recycleGrowth, {
    default: 2048 * MIB,
    description: DESCRIPTIONS.recycleGrowth,
    reason: 'A session keeps the memory of its largest batch; more than that is a leak.',
  }),
});

export const deadlineField = field(deadlineLeaf, {
  default: 10_000,
  description: DESCRIPTIONS.deadline,
  reason: 'Most callers give up after 10 to 30 s; work for someone who has gone is waste.',
});

/** The same fields in model.yaml and version.yaml, where all may be left out. */
export const declaredBatching = mapping({
  maxSize: optionalField(batchingLeaves.maxSize, { description: DESCRIPTIONS.maxSize }),
  maxDelay: optionalField(batchingLeaves.maxDelay, { description: DESCRIPTIONS.maxDelay }),
  preferredSizes: optionalField(batchingLeaves.preferredSizes, { description: DESCRIPTIONS.preferredSizes }),
});

export const declaredRunners = mapping({
  count: optionalField(runnersLeaves.count, { description: DESCRIPTIONS.count }),
  threads: optionalField(runnersLeaves.threads, { description: DESCRIPTIONS.threads }),
  spare: optionalField(runnersLeaves.spare, { description: DESCRIPTIONS.spare }),
  recycleBatches: optionalField(runnersLeaves.recycleBatches, { description: DESCRIPTIONS.recycleBatches }),
  recycleAge: optionalField(runnersLeaves.recycleAge, { description: DESCRIPTIONS.recycleAge }),
  recycleGrowth: optionalField(runnersLeaves.recycleGrowth, { description: DESCRIPTIONS.recycleGrowth }),
});

export const declaredDeadline = optionalField(deadlineLeaf, { description: DESCRIPTIONS.deadline });

export const watchField = field(boolean(), {
  default: true,
  description: 'Whether changes of the folder are taken in while serving.',
  reason: 'Copying a version into the folder is how it is deployed.',
});
