import { HealthChecks, ModelCatalogue } from './catalogue.ts';
import { type ClientOptions, type Settings, settingsOf } from './client-options.ts';
import { ModelClient } from './model.ts';
import type { ModelTypes } from './schema.ts';

/**
 * A Gimbal server, as its users see it. Keep one for each server: retry and hedge budgets are its own, shared by all of
 * its calls. `Models` is what `gimbal generate client` writes; without it every model takes and gives anything.
 */
export class Client<Models extends ModelTypes = ModelTypes> {
  readonly models: ModelCatalogue;
  readonly health: HealthChecks;
  readonly #settings: Settings;

  /** Throws a ValidationError for options that cannot be used. */
  constructor(options: ClientOptions) {
    this.#settings = settingsOf(options);
    this.models = new ModelCatalogue(this.#settings);
    this.health = new HealthChecks(this.#settings);
  }

  model<Name extends keyof Models & string>(name: Name): ModelClient<Models[Name]> {
    return new ModelClient(this.#settings, name);
  }
}
