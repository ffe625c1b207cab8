import type { CatalogueEntry } from '@gimbal/core';

/** A text that changes whenever what is served changes: the key under which generated documents are kept. */
export function catalogueKey(catalogue: readonly CatalogueEntry[]): string {
  let key = '';
  for (const { model, versions, failures } of catalogue) {
    key += `${model}(`;
    for (const { spec, state, reason, profile, variants } of versions) {
      key += `${spec.version} ${spec.digest} ${state} ${reason ?? ''} ${profile ? 'profiled' : ''}`;
      for (const variant of variants) key += ` ${variant.name} ${variant.state} ${variant.runners}`;
      key += ';';
    }
    for (const failure of failures) key += `${failure.version} ${failure.reason};`;
    key += ')';
  }
  return key;
}

/** A document made from the catalogue, made anew only when the catalogue has changed. */
export class CatalogueDocument {
  readonly #make: () => string;
  #key: string | undefined;
  #body = '';
  #etag = '';

  constructor(make: () => string) {
    this.#make = make;
  }

  /** The text, and an ETag that stands for it. */
  read(catalogue: readonly CatalogueEntry[]): { readonly body: string; readonly etag: string } {
    const key = catalogueKey(catalogue);
    if (key !== this.#key) {
      this.#body = this.#make();
      this.#etag = `"${fingerprint(this.#body)}"`;
      this.#key = key;
    }
    return { body: this.#body, etag: this.#etag };
  }
}

/** FNV-1a over the text, twice with different seeds: no secret, only a name for what was sent. */
function fingerprint(text: string): string {
  let first = 0x811c9dc5;
  let second = 0x01000193;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    first = Math.imul(first ^ code, 0x01000193);
    second = Math.imul(second ^ code, 0x85ebca6b);
  }
  return (first >>> 0).toString(16).padStart(8, '0') + (second >>> 0).toString(16).padStart(8, '0');
}
