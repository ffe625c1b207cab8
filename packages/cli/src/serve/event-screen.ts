import type { CatalogueEntry } from '@gimbal/core';
import type { HostEvent } from '@gimbal/server';
import type { Terminal } from '../terminal.ts';
import type { VerbContext } from '../verb.ts';
import { printStartupScreen } from './startup-screen.ts';

/** Lines of the log leave together, after 100 ms: those of the last model stand above the page, not below it. */
const PAGE_DELAY_MS = 150;

/** What the screen needs of a host. */
export interface ShownHost {
  catalogue(): readonly CatalogueEntry[];
}

/** Events of the host, for whoever is there: lines for scripts on stdout, lines of the log, or one page for people. */
export class EventScreen {
  /** Why nothing can be served, once that is known. */
  unusable: string | undefined;
  /** Whether there is any model at all, good or bad. */
  hasModels = false;
  readonly #terminal: Terminal;
  readonly #context: Pick<VerbContext, 'cwd' | 'version'>;
  readonly #host: () => ShownHost | undefined;
  #ready: (HostEvent & { event: 'ready' }) | undefined;
  #isShown = false;

  constructor(
    terminal: Terminal,
    context: Pick<VerbContext, 'cwd' | 'version'>,
    host: () => ShownHost | undefined,
  ) {
    this.#terminal = terminal;
    this.#context = context;
    this.#host = host;
  }

  show(event: HostEvent): void {
    const terminal = this.#terminal;
    if (event.event === 'unusable') this.unusable = event.reason;
    if (event.event === 'model') this.hasModels = true;
    if (terminal.isJson) terminal.print(JSON.stringify(event));
    else if (terminal.isLog) this.#logEvent(event);
    else this.#showToPeople(event);
  }

  /** The page needs both: the event and the host that it came from, in whichever order they arrive. */
  hostStarted(): void {
    const host = this.#host();
    const terminal = this.#terminal;
    if (this.#ready === undefined || host === undefined || this.#isShown) return;
    this.#isShown = true;
    const { cwd, version } = this.#context;
    const { http, grpc, admin } = this.#ready;
    setTimeout(() => {
      printStartupScreen(terminal, { http, grpc, admin, entries: host.catalogue(), cwd, version });
    }, PAGE_DELAY_MS);
  }

  /** The log tells of models by itself. */
  #logEvent(event: HostEvent): void {
    switch (event.event) {
      case 'ready':
        this.#terminal.log('info', 'Gimbal is ready', { ...event, version: this.#context.version });
        break;
      case 'draining':
        this.#terminal.log('info', DRAINING, event);
        break;
      case 'stopped':
        this.#terminal.log('info', 'Stopped', event);
        break;
      default:
    }
  }

  #showToPeople(event: HostEvent): void {
    switch (event.event) {
      case 'ready':
        this.#ready = event;
        this.hostStarted();
        break;
      case 'draining':
        // Nothing was served: there is nothing to drain, and why it ends is said at the end.
        if (this.unusable === undefined) this.#terminal.say(DRAINING);
        break;
      case 'stopped':
        if (this.unusable === undefined) this.#terminal.say('Stopped');
        break;
      default:
      // States before readiness are on the page; later ones are in the log.
    }
  }
}

const DRAINING = 'Draining: requests in flight are answered, new ones are refused';
