import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type {
  BatchingSpec,
  Derivation,
  DetectionSpec,
  ImageSpec,
  RunnerSpec,
  Signature,
  Task,
  TextSpec,
  VariantSpec,
  VersionSpec,
} from '@gimbal/core';
import {
  checkDocument,
  type DeclaredRemote,
  EMPTY_VERSION_FILE,
  formatDurationMs,
  type ModelFile,
  type VersionFile,
  versionFileSchema,
} from '@gimbal/core/config';
import { containedPath } from './contained-path.ts';
import { readSmallText } from './folder-files.ts';
import { completeImage } from './image-derivation.ts';
import { ProblemReport } from './problem-report.ts';
import { readRemote } from './remote-version.ts';
import { deriveBatchAxis, withoutPlaceholders } from './signature-derivation.ts';
import { deriveTask, hasCenterFaceOutputs, isTokenInput } from './task-derivation.ts';
import { completeText, TOKENIZER_FILE } from './text-derivation.ts';
import { checkLabelCount, findLabels } from './version-labels.ts';
import type { ModelDeclaration, ReadingContext, VersionReading, VersionSource } from './version-source.ts';
import { describeTensor, type FoundVariant, findVariants } from './version-variants.ts';
import { MAX_YAML_BYTES, YamlDocument } from './yaml-document.ts';

const VERSION_FILE = 'version.yaml';
const IMAGE_TASKS: readonly Task[] = ['image-classification', 'object-detection'];
const TEXT_TASKS: readonly Task[] = ['text-embedding', 'text-classification'];

const DETECTION_DEFAULTS: DetectionSpec = {
  decoder: 'centerface',
  scoreThreshold: 0.5,
  nmsIou: 0.3,
  maxBoxes: 100,
};

/** Reads one version completely: what is not declared is derived and said. Never throws for what is on disk. */
export async function readVersion(
  source: VersionSource,
  declaration: ModelDeclaration,
  context: ReadingContext,
): Promise<VersionReading> {
  const { model, version } = source;
  const report = new ProblemReport(source);
  report.add(...declaration.problems);
  const reader = new VersionReader(source, { report, context, modelFile: declaration.declared });
  let spec: VersionSpec | undefined;
  try {
    spec = await reader.read();
  } catch (error) {
    // Permissions, a file that vanished: the operating system's own word is the best there is.
    const got = String((error as NodeJS.ErrnoException).code ?? 'an unexpected error');
    report.addFile('', { expected: 'a readable folder', got, hint: 'check who may read it' });
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
  if (spec !== undefined && report.isEmpty) return { ok: true, model, version, spec, notes: reader.notes };
  return { ok: false, model, version, error: report.error(), problems: report.problems };
}

class VersionReader {
  readonly notes: string[] = [];
  readonly #source: VersionSource;
  readonly #report: ProblemReport;
  readonly #context: ReadingContext;
  readonly #modelFile: ModelFile;
  readonly #derivations: Derivation[] = [];
  /** Names of the files that make the version. */
  readonly #artefacts = new Set<string>();

  constructor(
    source: VersionSource,
    parts: { report: ProblemReport; context: ReadingContext; modelFile: ModelFile },
  ) {
    this.#source = source;
    this.#report = parts.report;
    this.#context = parts.context;
    this.#modelFile = parts.modelFile;
  }

  async read(): Promise<VersionSpec | undefined> {
    const declared = await this.#readDeclared();
    if (declared === undefined) return undefined;
    if (declared.remote !== undefined) return await this.#readRemote(declared, declared.remote);
    const variants = await findVariants(this.#source, declared, this.#report);
    const [best] = variants;
    if (best === undefined) return undefined;
    for (const variant of variants) {
      this.#artefacts.add(variant.file);
      for (const { location } of variant.model.externalFiles) this.#artefacts.add(location);
    }
    const signature = this.#signature(best);
    const labels = await this.#labels(declared, signature);
    const task = await this.#task(declared, signature, labels?.length);
    const text = TEXT_TASKS.includes(task) ? await this.#text(declared, signature) : undefined;
    const detection = task === 'object-detection' ? this.#detection(declared, signature) : undefined;
    this.#checkUnused(declared, task);
    await this.#golden(declared);
    this.#checkColumns(declared, signature);
    this.#noteCompanions(variants);
    const specs = variants.map((variant, index) => this.#variant(variant, { index, task, declared }));
    return {
      ...(await this.#common(declared, { signature, task, labels })),
      variants: specs,
      text,
      detection,
    };
  }

  /** A version without a model file: someone else's server runs it. */
  async #readRemote(declared: VersionFile, section: DeclaredRemote): Promise<VersionSpec> {
    const { remote, signature, signatureFrom, task, artefacts } = await readRemote(
      this.#source,
      { declared, remote: section },
      this.#report,
    );
    for (const file of artefacts) this.#artefacts.add(file);
    const { labels, file } = await findLabels(this.#source, declared, this.#report);
    if (file !== undefined) this.#artefacts.add(file);
    const shown =
      signature.inputs.length === 0 ? 'not known yet' : signature.inputs.map(describeTensor).join('; ');
    this.#derive('signature', shown, signatureFrom);
    this.#derive('task', task.task, task.because);
    this.#checkUnused(declared, task.task);
    await this.#golden(declared);
    if (signature.inputs.length > 0) this.#checkColumns(declared, signature);
    const variant = { name: 'remote', file: '', qualityRatio: undefined, image: undefined, remote };
    const common = await this.#common(declared, { signature, task: task.task, labels });
    return { ...common, variants: [variant], text: undefined, detection: undefined };
  }

  /** What does not depend on where a version runs. */
  async #common(
    declared: VersionFile,
    { signature, task, labels }: Pick<VersionSpec, 'signature' | 'task' | 'labels'>,
  ): Promise<Omit<VersionSpec, 'variants' | 'text' | 'detection'>> {
    return {
      model: this.#source.model,
      version: this.#source.version,
      folder: this.#source.folder,
      digest: this.#report.isEmpty ? await this.#digest() : '',
      task,
      signature,
      labels,
      columns: declared.columns,
      classification: {
        activation: declared.classification?.activation ?? 'auto',
        topK: declared.classification?.topK ?? 5,
      },
      batching: this.#batching(declared, signature),
      runners: this.#runners(declared),
      deadlineMs: this.#deadline(declared),
      nonFiniteOutputs: declared.nonFiniteOutputs ?? this.#modelFile.nonFiniteOutputs ?? 'error',
      cached: declared.cache ?? this.#modelFile.cache ?? false,
      repeatable: declared.repeatable ?? this.#modelFile.repeatable ?? true,
      derivations: this.#derivations,
    };
  }

  async #readDeclared(): Promise<VersionFile | undefined> {
    if (this.#source.onlyFile !== undefined) return EMPTY_VERSION_FILE;
    const contained = await containedPath(this.#source.root, this.#source.folder, VERSION_FILE);
    if (!contained.ok) {
      if (contained.why === 'missing') return EMPTY_VERSION_FILE;
      this.#report.addFile(VERSION_FILE, {
        expected: 'a file inside the repository',
        got: 'a link out of it',
      });
      return undefined;
    }
    this.#artefacts.add(VERSION_FILE);
    const read = await readSmallText(contained.path, MAX_YAML_BYTES);
    if (read.kind !== 'text') {
      const got = read.kind === 'too-large' ? 'a larger one' : read.kind === 'missing' ? 'none' : read.why;
      this.#report.addFile(VERSION_FILE, {
        expected: `a readable file of at most ${MAX_YAML_BYTES} bytes`,
        got,
      });
      return undefined;
    }
    const document = new YamlDocument(this.#report.shown(VERSION_FILE), read.text);
    this.#report.document = document;
    this.#report.add(...document.problems);
    if (document.problems.length > 0) return undefined;
    const checked = checkDocument(versionFileSchema, document.value);
    this.#report.add(...document.problemsOf(checked));
    return checked.ok ? checked.value : undefined;
  }

  #signature({ model, file }: FoundVariant): Signature {
    const inputs = model.inputs.map(withoutPlaceholders);
    const outputs = model.outputs.map(withoutPlaceholders);
    const { axis, because } = deriveBatchAxis(inputs, outputs);
    this.#derive(
      'signature',
      `${counted(inputs.length, 'input')}, ${counted(outputs.length, 'output')}`,
      `read from ${file}`,
    );
    this.#derive('batchAxis', axis, because);
    return { inputs, outputs, batchAxis: axis };
  }

  async #labels(declared: VersionFile, signature: Signature): Promise<readonly string[] | undefined> {
    const { labels, file, derivation } = await findLabels(this.#source, declared, this.#report);
    if (file !== undefined) this.#artefacts.add(file);
    if (derivation !== undefined) this.#derivations.push(derivation);
    if (labels !== undefined && declared.task !== 'object-detection') {
      checkLabelCount(labels, signature.outputs, { file, report: this.#report });
    }
    return labels;
  }

  async #task(declared: VersionFile, signature: Signature, labelCount: number | undefined): Promise<Task> {
    if (declared.task !== undefined) {
      this.#checkTask(declared.task, signature);
      return declared.task;
    }
    const isBare = this.#source.onlyFile !== undefined;
    const tokenizer = declared.text?.tokenizer ?? TOKENIZER_FILE;
    const hasTokenizer =
      !isBare && (await containedPath(this.#source.root, this.#source.folder, tokenizer)).ok;
    const { task, because } = deriveTask({ ...signature, labelCount, hasTokenizer });
    this.#derive('task', task, because);
    return task;
  }

  /** A declared task must be possible with the model's tensors. */
  #checkTask(task: Task, { inputs, outputs }: Signature): void {
    const shown = inputs.map(describeTensor).join('; ');
    if (IMAGE_TASKS.includes(task) && !inputs.some((input) => input.shape.length === 4)) {
      this.#report.addField(['task'], {
        expected: `tensor or tabular, since no input has four axes (${shown})`,
        got: task,
      });
    }
    if (TEXT_TASKS.includes(task) && !inputs.some(isTokenInput)) {
      this.#report.addField(['task'], {
        expected: `another task, since no input takes token ids (${shown})`,
        got: task,
      });
    }
    if (task === 'object-detection' && !hasCenterFaceOutputs(outputs)) {
      this.#report.addField(['task'], {
        expected: 'the outputs heatmap, scale, offset and landmarks, which the decoder "centerface" needs',
        got: outputs.map(describeTensor).join('; '),
        hint: 'with "task: tensor" the raw outputs are answered',
      });
    }
  }

  async #text(declared: VersionFile, signature: Signature): Promise<TextSpec | undefined> {
    const { text, derivations } = await completeText(declared.text ?? {}, this.#source.folder);
    const contained = await containedPath(this.#source.root, this.#source.folder, text.tokenizer);
    this.#derivations.push(...derivations);
    if (contained.ok) this.#artefacts.add(text.tokenizer);
    else {
      this.#report.addField(
        ['text', 'tokenizer'],
        {
          expected: 'a tokenizer.json inside the version’s folder',
          got: `${JSON.stringify(text.tokenizer)}, which is ${contained.why}`,
          hint: 'save it with tokenizer.save_pretrained',
        },
        text.tokenizer,
      );
    }
    return signature.inputs.some(isTokenInput) ? text : undefined;
  }

  #detection(declared: VersionFile, _signature: Signature): DetectionSpec {
    const { detection } = declared;
    if (detection === undefined) {
      this.#derive('detection', JSON.stringify(DETECTION_DEFAULTS), 'as the authors of CenterFace run it');
    }
    return {
      decoder: detection?.decoder ?? DETECTION_DEFAULTS.decoder,
      scoreThreshold: detection?.scoreThreshold ?? DETECTION_DEFAULTS.scoreThreshold,
      nmsIou: detection?.nmsIou ?? DETECTION_DEFAULTS.nmsIou,
      maxBoxes: detection?.maxBoxes ?? DETECTION_DEFAULTS.maxBoxes,
    };
  }

  /** Sections that the task never reads are mistakes of whoever wrote them. */
  #checkUnused(declared: VersionFile, task: Task): void {
    const uses = [
      ['image', IMAGE_TASKS],
      ['text', TEXT_TASKS],
      ['detection', ['object-detection']],
      ['columns', ['tabular', 'tensor']],
    ] as const;
    for (const [section, tasks] of uses) {
      if (declared[section] === undefined || tasks.includes(task as never)) continue;
      this.#report.addField([section], {
        expected: `no "${section}" for the task ${task}`,
        got: `"${section}"`,
        hint: `declare one of the tasks ${tasks.join(', ')}, or take it out`,
      });
    }
  }

  async #golden(declared: VersionFile): Promise<void> {
    if (declared.golden === undefined) return;
    const contained = await containedPath(this.#source.root, this.#source.folder, declared.golden);
    if (contained.ok) this.#artefacts.add(declared.golden);
    else {
      const got = `${JSON.stringify(declared.golden)}, which is ${contained.why}`;
      this.#report.addField(['golden'], { expected: 'a file inside the version’s folder', got });
    }
  }

  #checkColumns(declared: VersionFile, { inputs }: Signature): void {
    const width = inputs[0]?.shape.at(-1) ?? -1;
    if (declared.columns === undefined || width < 0 || declared.columns.length === width) return;
    this.#report.addField(['columns'], {
      expected: `${width} names, as ${describeTensor(inputs[0])} has columns`,
      got: `${declared.columns.length} names`,
    });
  }

  #noteCompanions(variants: readonly FoundVariant[]): void {
    for (const { file, model } of variants) {
      if (!model.operators.some(({ name }) => name === 'DynamicQuantizeLinear')) continue;
      this.notes.push(
        `${file} is quantised dynamically: its results depend a little on the other rows of a batch; "batching: { maxSize: 1 }" makes them repeat`,
      );
    }
  }

  #variant(
    variant: FoundVariant,
    { index, task, declared }: { index: number; task: Task; declared: VersionFile },
  ): VariantSpec {
    const { name, path, qualityRatio } = variant;
    return { name, file: path, qualityRatio, image: this.#image(variant, { index, task, declared }) };
  }

  #image(
    variant: FoundVariant,
    { index, task, declared }: { index: number; task: Task; declared: VersionFile },
  ): ImageSpec | undefined {
    const tensor = variant.model.inputs.find((input) => input.shape.length === 4);
    if (!IMAGE_TASKS.includes(task) || tensor === undefined) return undefined;
    const use = task === 'object-detection' ? 'detection' : 'classification';
    const completed = completeImage({ ...declared.image, ...variant.image }, tensor, use);
    // The same guess for each variant is said once.
    for (const derivation of completed.derivations) {
      const field = index === 0 ? derivation.field : `variants[${index}].${derivation.field}`;
      const known = this.#derivations.some(
        (one) => one.field === derivation.field && one.value === derivation.value,
      );
      if (!known) this.#derivations.push({ ...derivation, field });
    }
    for (const { key, expected, got } of completed.mismatches) {
      const path = key in variant.image ? ['variants', index, 'image', key] : ['image', key];
      this.#report.addField(path, { expected, got }, variant.file);
    }
    return completed.image;
  }

  #batching(declared: VersionFile, { batchAxis }: Signature): BatchingSpec {
    const { defaults } = this.#context;
    const own = declared.batching ?? {};
    const shared = this.#modelFile.batching ?? {};
    const wanted = own.maxSize ?? shared.maxSize ?? defaults.batching.maxSize;
    const spec = {
      maxDelayMs: own.maxDelay ?? shared.maxDelay ?? defaults.batching.maxDelayMs,
      preferredSizes: own.preferredSizes ?? shared.preferredSizes ?? defaults.batching.preferredSizes,
    };
    if (batchAxis === 'none') {
      if (typeof own.maxSize === 'number' && own.maxSize > 1) {
        this.#report.addField(['batching', 'maxSize'], {
          expected: '1, since the model has no free batch axis',
          got: String(own.maxSize),
        });
      }
      this.#derive('batching.maxSize', '1', 'without a free batch axis each request runs alone');
      return { ...spec, maxSize: 1 };
    }
    if (wanted === 'auto') this.#derive('batching.maxSize', 'auto', 'decided by the self-profile at load');
    return { ...spec, maxSize: wanted };
  }

  #runners(declared: VersionFile): RunnerSpec {
    const { defaults, cores } = this.#context;
    const own = declared.runners ?? {};
    const shared = this.#modelFile.runners ?? {};
    const count = own.count ?? shared.count ?? defaults.runners.count;
    const wanted = own.threads ?? shared.threads ?? defaults.runners.threads;
    const threads = wanted === 'auto' ? Math.max(1, Math.floor(cores / count)) : wanted;
    if (wanted === 'auto') {
      const runners = count === 1 ? 'one runner' : `${count} runners`;
      this.#derive('runners.threads', String(threads), `${cores} usable cores for ${runners}`);
    }
    return {
      count,
      threads,
      spare: own.spare ?? shared.spare ?? defaults.runners.spare,
      recycleBatches: own.recycleBatches ?? shared.recycleBatches ?? defaults.runners.recycleBatches,
      recycleAgeMs: own.recycleAge ?? shared.recycleAge ?? defaults.runners.recycleAgeMs,
      recycleGrowthBytes: own.recycleGrowth ?? shared.recycleGrowth ?? defaults.runners.recycleGrowthBytes,
    };
  }

  #deadline(declared: VersionFile): number {
    const own = declared.deadline ?? this.#modelFile.deadline;
    if (own !== undefined) return own;
    const { deadlineMs } = this.#context.defaults;
    this.#derive('deadline', formatDurationMs(deadlineMs), 'the default of the server');
    return deadlineMs;
  }

  /** Over the names and contents of every artefact and what model.yaml says: the same digest is the same version. */
  async #digest(): Promise<string> {
    const hash = createHash('sha256');
    for (const file of [...this.#artefacts].sort()) {
      hash.update(`${file}\0${await this.#context.digests.digest(join(this.#source.folder, file))}\n`);
    }
    const { versions: _served, ...modelFile } = this.#modelFile;
    // The schema gives its members in one order, whatever the file's.
    hash.update(JSON.stringify(modelFile));
    return hash.digest('hex');
  }

  #derive(field: string, value: string, because: string): void {
    this.#derivations.push({ field, value, because });
  }
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
