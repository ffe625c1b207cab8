/** What decisions need to know of one look at a device. What could not be read is undefined: it decides nothing. */
export interface DeviceCondition {
  /** In the order of the PCI bus, as the driver's own tools count. May move when a device goes; `uuid` does not. */
  readonly index: number;
  readonly uuid: string;
  readonly memory: { readonly totalBytes: number; readonly freeBytes: number } | undefined;
  readonly temperatureCelsius: number | undefined;
  /** Where the device starts to slow itself down. */
  readonly slowdownCelsius: number | undefined;
  /** Critical errors (NVIDIA's Xid codes) since the last look. */
  readonly xids: readonly number[];
  /** The driver has lost the device, or wants it reset. */
  readonly lost: boolean;
}
