import type { DeviceSample } from './device-reading.ts';

/** Something that can be asked for a sample of all devices. Rejects when this look failed. */
export interface OpenSource {
  sample(): DeviceSample | Promise<DeviceSample>;
  close(): void;
}
