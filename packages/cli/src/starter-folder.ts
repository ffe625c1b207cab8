/** The add-sub model (OUTPUT0 = INPUT0 + INPUT1, OUTPUT1 = INPUT0 - INPUT1; int32 [batch, 16]), made by hand for Gimbal. */
const MODEL_BASE64 =
  'CAgSDGhhbmQtd3JpdHRlbjrHAQoeCgZJTlBVVDAKBklOUFVUMRIHT1VUUFVUMCIDQWRkCh4KBklOUFVUMAoGSU5QVVQxEgdPVVRQVVQxIgNTdWISB2FkZC1zdWJaHQoGSU5QVVQwEhMKEQgGEg0KBxIFYmF0Y2gKAggQWh0KBklOUFVUMRITChEIBhINCgcSBWJhdGNoCgIIEGIeCgdPVVRQVVQwEhMKEQgGEg0KBxIFYmF0Y2gKAggQYh4KB09VVFBVVDESEwoRCAYSDQoHEgViYXRjaAoCCBBCBAoAEBE=';

const CONFIGURATION = `# Configuration of this server. Every field has a default: docs/reference/configuration.md
http:
  host: 127.0.0.1
  port: 8000
admin:
  port: 8002
models:
  path: models
batching:
  maxSize: auto
  maxDelay: 5ms
deadline: 10s
`;

const VERSION = `# What this version is; everything that is left out is derived and printed at start.
task: tensor
variants:
  - { name: int32, file: model.onnx }
`;

const README = `# Models served by Gimbal

    gimbal check            # is everything in models/ right?
    gimbal serve            # serve it
    gimbal infer add-sub -d '{"INPUT0": [[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]], "INPUT1": [[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]]}'

A model is a folder \`models/<name>/<version>/\` with a \`model.onnx\`, and a \`labels.txt\`, \`tokenizer.json\` or
\`version.yaml\` where it needs one. \`gimbal inspect model.onnx\` shows what an .onnx file takes and gives. Copy a new
version beside the old one while the server runs: it is checked, loaded and then served.
`;

export interface StarterFile {
  /** Relative to the new folder. */
  readonly path: string;
  readonly content: string | Uint8Array;
}

/** What `gimbal init` writes. */
export function starterFiles(): readonly StarterFile[] {
  return [
    { path: 'gimbal.yaml', content: CONFIGURATION },
    { path: 'README.md', content: README },
    { path: 'models/add-sub/1/version.yaml', content: VERSION },
    { path: 'models/add-sub/1/model.onnx', content: Buffer.from(MODEL_BASE64, 'base64') },
  ];
}
