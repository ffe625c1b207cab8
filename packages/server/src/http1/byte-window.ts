/**
 * The received bytes that are being read, and how far. Parsers move `at`; one window is reused for a connection's whole
 * life, so that reading allocates nothing.
 */
export interface ByteWindow {
  bytes: Buffer;
  /** Index of the next byte to be read. */
  at: number;
  /** Index after the last received byte. */
  end: number;
}

export const NO_BYTES = Buffer.alloc(0);

/** A window of nothing, to be filled by who reads. */
export function emptyWindow(): ByteWindow {
  return { bytes: NO_BYTES, at: 0, end: 0 };
}
