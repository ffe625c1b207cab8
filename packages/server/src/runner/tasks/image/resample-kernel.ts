/**
 * resample-kernel.c, compiled: 0.9 KB of WebAssembly without imports. Made again by
 *
 *   python -m ziglang cc -target wasm32-freestanding -mcpu=generic+simd128 -O3 -nostdlib -Wl,--no-entry \
 *     -Wl,--export-memory -Wl,--strip-all -Wl,-z,stack-size=4096 -o kernel.wasm resample-kernel.c
 *
 * with ziglang 0.17.1 from PyPI, and `base64 kernel.wasm`. WebAssembly rather than a native module: nothing to build or
 * download on any platform, and a fault in it can't leave its own memory.
 */
const MODULE = [
  'AGFzbQEAAAABGAJgCX9/f39/f39/fwBgCH9/f39/f39/AAMDAgABBAUBcAEBAQUDAQABBgcBfwFBgCALBxsDBm1lbW9yeQIAB2Nv',
  'bHVtbnMAAARyb3dzAAEKtwYC0AMGCH8EewF/AXsBfwN7AkAgBUEBSA0AIAhBAXQhCSABQQF0IQpBACELA0ACQCAEQQFIDQAgACAG',
  'IAtBAnRqKAIAIgwgAWxqIQ0gAiALIANsaiEOIAAgASAMQQFqbGohD0EAIRADQAJAAkAgCEEBTg0A/QwAAAAAAAAAAAAAAAAAAAAA',
  'IhEhEiARIRMgESEUDAELQQAhDCAHIRX9DAAgAAAAIAAAACAAAAAgAAAiFCETIBQhEiAUIRZBACEXA0AgDSAMav0AAAAiGCAPIAxq',
  '/QAAACIZ/Q0IGAkZChoLGwwcDR0OHg8fIhr9igEgFf0JAAAiEf26ASAW/a4BIRYgGv2JASAR/boBIBL9rgEhEiAYIBn9DQAQAREC',
  'EgMTBBQFFQYWBxciGP2KASAR/boBIBP9rgEhEyAY/YkBIBH9ugEgFP2uASEUIAwgCmohDCAVQQRqIRUgF0ECaiIXIAhIDQALIBZB',
  'Dv2sASERIBJBDv2sASESIBNBDv2sASETIBRBDv2sASEUCyAOIBBqIBQgE/2FASASIBH9hQH9Zv0LAAAgDUEQaiENIA9BEGohDyAQ',
  'QRBqIhAgBEgNAAsLIAcgCWohByALQQFqIgsgBUcNAAsLC+ICBAd/AXsDfwJ7AkAgBEEBSA0AIAdBAXQhCCADQQNsIQlBACEKA0AC',
  'QCADQQFIDQAgAiAJIApsaiELIAAgCiABbGohDEEAIQ0gBiEOA0ACQAJAIAdBAU4NAP0MACAAAAAgAAAAIAAAACAAACEPDAELIAwg',
  'BSANQQJ0aigCAEEDbGohEP0MACAAAAAgAAAAIAAAACAAACEPQQAhESAOIRIDQCAQ/QAAACIT/QwAAAAAAAAAAAAAAAAAAAAAIhT9',
  'DQAQAxABEAQQAhAFEBAQEBAgEv0JAAD9ugEgD/2uASATIBT9DQYQCRAHEAoQCBALEBAQEBAgEkEEav0JAAD9ugH9rgEhDyASQQhq',
  'IRIgEEEMaiEQIBFBBGoiESAHSA0ACwsgCyANQQNsaiAPQQ79rAEgD/2FASIPIA/9Zv1aAAAAIA4gCGohDiANQQFqIg0gA0cNAAsL',
  'IApBAWoiCiAERw0ACwsL',
].join('');

const PAGE_BYTES = 65_536;
/** Below this address lies the kernel's own stack. */
export const FIRST_FREE_BYTE = 8_192;

interface KernelExports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  columns(
    source: number,
    sourceStride: number,
    target: number,
    targetStride: number,
    rowBytes: number,
    rows: number,
    first: number,
    weights: number,
    longest: number,
  ): void;
  rows(
    source: number,
    sourceStride: number,
    target: number,
    width: number,
    height: number,
    first: number,
    weights: number,
    longest: number,
  ): void;
}

/** As much of it as is needed: the ECMAScript library does not declare it, and the DOM's is not loaded. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

const kernel = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(MODULE, 'base64')))
  .exports as KernelExports;

export const { columns, rows } = kernel;

/** The kernel's memory, at least `byteLength` long. Views of it end when it grows: take it anew for each picture. */
export function kernelMemory(byteLength: number): ArrayBuffer {
  const missing = byteLength - kernel.memory.buffer.byteLength;
  if (missing > 0) kernel.memory.grow(Math.ceil(missing / PAGE_BYTES));
  return kernel.memory.buffer;
}
