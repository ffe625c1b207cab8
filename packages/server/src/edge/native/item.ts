import type { GimbalError, WorkInput } from '@gimbal/core';

/** One input of a request, in arena memory and ready to be submitted. */
export interface ReadyItem {
  readonly ok: true;
  readonly input: WorkInput;
  readonly rows: number;
}

/** One input that can't be run; its neighbours can. */
export interface RefusedItem {
  readonly ok: false;
  readonly error: GimbalError;
}

export type Item = ReadyItem | RefusedItem;

/** A request's inputs as they came. */
export interface ItemList {
  /** `one`: a single answer; `several`: `results`, even when only one came. */
  readonly form: 'one' | 'several';
  readonly items: readonly Item[];
}
