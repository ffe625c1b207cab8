import { ServerClient } from '../server-client.ts';
import { type Answer, countCodes, isAnswered, latencyMs, recoveryMs } from './answer.ts';
import { type Check, check, type Drill } from './drill.ts';
import { OpenLoop } from './open-loop.ts';
import { isRunning, OwnServer } from './own-server.ts';
import { BYSTANDER, SampleModels, TARGET } from './sample-models.ts';
import { type ModelDocument, sampleRequest } from './sample-request.ts';
import { Sender } from './sender.ts';
import { pause, Stage } from './stage.ts';
import { type TimelineSecond, timelineOf } from './timeline.ts';

/** Load before the fault: what is normal must be known. */
const BASELINE_MS = 2_000;
/** The model beside the one that is broken gets a little. */
const BYSTANDER_RATE = 10;
const SERVER_TIMEOUT_MS = 10_000;
const LIVE_EVERY_MS = 1_000;
/** Answers of a second may still be on their way when it is shown. */
const LIVE_DELAY_MS = 200;
const GONE_LIMIT_MS = 5_000;

/** A server of others that a drill is aimed at. */
export interface AimedServer {
  readonly url: string;
  readonly adminUrl: string;
  readonly model: string;
}

export interface ConductOptions {
  readonly drill: Drill;
  /** Undefined: a server of the drill's own. */
  readonly aim: AimedServer | undefined;
  /** A model's folder for the drill's own server. */
  readonly modelFolder: string | undefined;
  /** The user's own request, for models whose input can't be made up. */
  readonly body: Buffer | undefined;
  readonly ratePerSecond: number;
  readonly durationMs: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Each second as it has passed, for whoever watches. */
  readonly onSecond: (second: TimelineSecond, full: number) => void;
}

export interface DrillReport {
  readonly drill: string;
  readonly criterion: string;
  readonly isPassed: boolean;
  readonly checks: readonly Check[];
  readonly requests: number;
  readonly codes: Readonly<Record<string, number>>;
  /** Of answers from the fault on. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** From the fault, or its end where the drill ended it, to the last request that was not answered; 0 for none. */
  readonly recoveryMs: number;
  readonly unsent: number;
  readonly timeline: readonly TimelineSecond[];
  /** The last of the server's log, when the drill has failed and the server was its own. */
  readonly log: readonly string[];
}

/** Runs a drill from its server's start to the last process, whatever happens on the way. */
export async function conduct(options: ConductOptions): Promise<DrillReport> {
  const place = await Place.open(options);
  try {
    return await new Conduct(options, place).run();
  } finally {
    await place.close();
  }
}

/** The servers and the folder of a drill. */
class Place {
  readonly model: string;
  readonly models: SampleModels | undefined;
  readonly servers: OwnServer[] = [];
  readonly #options: ConductOptions;

  private constructor(options: ConductOptions) {
    const { aim, drill, modelFolder } = options;
    this.#options = options;
    this.model = aim?.model ?? TARGET;
    if (aim) return;
    const { isLadder = false, maxRows } = drill.server;
    this.models = new SampleModels({
      isLadder,
      ...(maxRows === undefined ? {} : { maxRows }),
      ...(modelFolder === undefined ? {} : { model: modelFolder }),
    });
  }

  static async open(options: ConductOptions): Promise<Place> {
    const place = new Place(options);
    try {
      if (place.models) await place.startServer();
      return place;
    } catch (error) {
      await place.close();
      throw error;
    }
  }

  get url(): string {
    return this.#options.aim?.url ?? this.servers[0]?.url ?? '';
  }

  get adminUrl(): string {
    return this.#options.aim?.adminUrl ?? this.servers[0]?.adminUrl ?? '';
  }

  async startServer(): Promise<OwnServer> {
    const { drill, environment } = this.#options;
    const server = await OwnServer.start({
      cwd: this.models?.path ?? '.',
      models: this.models?.models ?? '',
      environment,
      lameDuckMs: drill.server.lameDuckMs ?? 0,
    });
    this.servers.push(server);
    return server;
  }

  async close(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
    this.models?.remove();
  }
}

class Conduct {
  readonly #options: ConductOptions;
  readonly #place: Place;
  readonly #sender: Sender;
  readonly #pids = new Set<number>();
  #load: OpenLoop | undefined;
  #bystander: OpenLoop | undefined;
  #stage: Stage | undefined;
  #live: NodeJS.Timeout | undefined;
  #shown = 0;

  constructor(options: ConductOptions, place: Place) {
    this.#options = options;
    this.#place = place;
    this.#sender = new Sender(place.url);
  }

  async run(): Promise<DrillReport> {
    const { drill } = this.#options;
    try {
      const stage = await this.#setTheStage();
      const own = await drill.run(stage);
      clearInterval(this.#live);
      await Promise.all([this.#load?.stop(), this.#bystander?.stop()]);
      await this.#notePids(stage).catch(() => {});
      const checks = [...own, ...this.#neighbour(), ...(await this.#end(stage))];
      return this.#report(stage, checks);
    } finally {
      clearInterval(this.#live);
      await Promise.all([this.#load?.stop(), this.#bystander?.stop()]);
      this.#sender.close();
    }
  }

  /** The load flows, what is normal is known: now things may be broken. */
  async #setTheStage(): Promise<Stage> {
    const { drill, body, ratePerSecond, durationMs } = this.#options;
    const place = this.#place;
    const client = new ServerClient(place.url, SERVER_TIMEOUT_MS);
    const request = sampleRequest(await describe(client, place.model), { body, timeoutMs: drill.timeoutMs });
    const load = new OpenLoop(this.#sender, ratePerSecond, () => request.usual);
    this.#load = load;
    if (place.models) {
      const beside = sampleRequest(await describe(client, BYSTANDER), {
        body: undefined,
        timeoutMs: drill.timeoutMs,
      });
      this.#bystander = new OpenLoop(this.#sender, BYSTANDER_RATE, () => beside.usual);
      this.#bystander.start();
    }
    load.start();
    this.#watch();
    await pause(BASELINE_MS);
    const stage = new Stage({
      model: place.model,
      request,
      sender: this.#sender,
      load,
      admin: new ServerClient(place.adminUrl, SERVER_TIMEOUT_MS),
      durationMs,
      ratePerSecond,
      server: place.servers[0],
      models: place.models,
      startReplica: () => place.startServer(),
    });
    this.#stage = stage;
    await this.#notePids(stage);
    return stage;
  }

  #watch(): void {
    this.#live = setInterval(() => {
      const now = this.#sender.now() - LIVE_DELAY_MS;
      if (now < (this.#shown + 1) * 1000) return;
      const second = this.#timeline(this.#shown)[this.#shown];
      if (second) this.#options.onSecond(second, this.#options.ratePerSecond);
      this.#shown += 1;
    }, LIVE_EVERY_MS / 4);
  }

  #timeline(lastSecond: number): TimelineSecond[] {
    return timelineOf(this.#load?.answers ?? [], this.#stage?.marks ?? [], lastSecond);
  }

  async #notePids(stage: Stage): Promise<void> {
    if (this.#place.servers.length === 0) return;
    for (const { pid } of await stage.allRunners()) if (pid !== null) this.#pids.add(pid);
  }

  /** Whoever shares the server with a broken model must not notice. */
  #neighbour(): Check[] {
    const answers = this.#bystander?.answers;
    if (!answers) return [];
    const missing = answers.filter((answer) => !isAnswered(answer)).length;
    return [
      check(
        'another model does not notice',
        missing === 0 && answers.length > 0,
        `${answers.length - missing} of ${answers.length} answered`,
      ),
    ];
  }

  /** Heals a server of others; ends one of our own and sees that nothing is left of it. */
  async #end(stage: Stage): Promise<Check[]> {
    const { servers } = this.#place;
    if (servers.length === 0) {
      await stage.clearAll();
      return [];
    }
    const codes = await Promise.all(servers.map((server) => server.stop()));
    const left = () => [...this.#pids].filter(isRunning);
    await stage.until(() => left().length === 0, GONE_LIMIT_MS);
    return [
      check(
        'the server ends in order',
        codes.every((code) => code === 0),
        `exit code ${codes.join(', ')}`,
      ),
      check('no process is left behind', left().length === 0, `${left().length} of ${this.#pids.size} left`),
    ];
  }

  #report(stage: Stage, checks: readonly Check[]): DrillReport {
    const { drill } = this.#options;
    const answers: readonly Answer[] = stage.answers;
    const since = stage.answersSince();
    const answered = since.filter(isAnswered);
    const isPassed = checks.length > 0 && checks.every((one) => one.isPassed);
    const lastSecond = Math.floor(Math.max(0, ...answers.slice(-1000).map(({ endedAt }) => endedAt)) / 1000);
    return {
      drill: drill.name,
      criterion: drill.criterion,
      isPassed,
      checks,
      requests: answers.length,
      codes: countCodes([...answers, ...stage.asides]),
      p50Ms: rounded(latencyMs(answered, 0.5)),
      p99Ms: rounded(latencyMs(answered, 0.99)),
      recoveryMs: Math.round(recoveryMs(since, stage.healedAt ?? stage.brokenAt)),
      unsent: this.#load?.unsent ?? 0,
      timeline: this.#timeline(lastSecond),
      log: isPassed ? [] : (this.#place.servers[0]?.log ?? []),
    };
  }
}

async function describe(client: ServerClient, model: string): Promise<ModelDocument> {
  const path = `/v1/models/${encodeURIComponent(model)}`;
  const { body } = await client.requestOfModel(model, { method: 'GET', path });
  return body as ModelDocument;
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
