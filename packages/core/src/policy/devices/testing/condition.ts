import type { DeviceCondition } from '../device-condition.ts';

/** A device in good health, except for what the test is about. */
export function aCondition(fields: Partial<DeviceCondition> = {}): DeviceCondition {
  return {
    index: 0,
    uuid: 'GPU-a',
    memory: { totalBytes: 1000, freeBytes: 500 },
    temperatureCelsius: 50,
    slowdownCelsius: 90,
    xids: [],
    lost: false,
    ...fields,
  };
}

/** The same device with so much of its 1,000 bytes free. */
export function withFree(freeBytes: number): DeviceCondition {
  return aCondition({ memory: { totalBytes: 1000, freeBytes } });
}
