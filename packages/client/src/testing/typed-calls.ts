// What the compiler must accept and refuse of a client with generated types. Never run: `tsc` reads it, and a line that
// should fail but compiles is an error ("unused @ts-expect-error").
import { type Client, type Tensor, tensor } from '../index.ts';

/** As `gimbal generate client` writes it. */
export type Models = {
  'add-sub': {
    task: 'tensor';
    inputs: {
      INPUT0: { datatype: 'INT32'; shape: readonly [number, 16] };
      INPUT1: { datatype: 'INT32'; shape: readonly [number, 16] };
    };
    outputs: { OUTPUT0: { datatype: 'INT32'; shape: readonly [number, 16] } };
    columns: never;
  };
  cats: {
    task: 'image-classification';
    inputs: { images: { datatype: 'FP32'; shape: readonly [number, 3, 224, 224] } };
    outputs: { scores: { datatype: 'FP32'; shape: readonly [number, 1000] } };
    columns: never;
  };
  words: {
    task: 'text-embedding';
    inputs: { ids: { datatype: 'INT64'; shape: readonly [number, number] } };
    outputs: { embedding: { datatype: 'FP32'; shape: readonly [number, 384] } };
    columns: never;
  };
  prices: {
    task: 'tabular';
    inputs: { x: { datatype: 'FP64'; shape: readonly [number, 2] } };
    outputs: { price: { datatype: 'FP64'; shape: readonly [number, 1] } };
    columns: 'area' | 'rooms';
  };
};

const row = new Int32Array(16);

export async function rightCalls(client: Client<Models>): Promise<void> {
  const INPUT0 = tensor('INT32', [1, 16], row);
  const { outputs } = await client
    .model('add-sub')
    .infer({ INPUT0, INPUT1: INPUT0 }, { outputs: ['OUTPUT0'] });
  const sums: Int32Array = outputs.OUTPUT0.data;
  const sixteen: 16 = outputs.OUTPUT0.shape[1];
  const { outputs: json } = await client.model('add-sub').infer({ INPUT0: [[1, 2]], INPUT1: [row] });
  const nested = json.OUTPUT0;
  const { predictions } = await client.model('cats').infer(new Blob([]), { parameters: { top_k: 2 } });
  const label: string | null | undefined = predictions[0]?.label;
  const { embedding } = await client.model('words').infer('hello');
  const first: number | undefined = embedding[0];
  await client.model('prices').infer({ area: 50, rooms: 2 });
  await client.model('prices').infer([50, 2]);
  const { results } = await client.model('words').inferMany(['a', 'b']);
  for (const result of results) if (result.ok) result.embedding.length satisfies number;
  void [sums, sixteen, nested, label, first];
}

export async function wrongCalls(client: Client<Models>): Promise<void> {
  const good = tensor('INT32', [1, 16], row);
  // @ts-expect-error: no such model
  client.model('add-subs');
  // @ts-expect-error: an input is missing
  await client.model('add-sub').infer({ INPUT0: good });
  // @ts-expect-error: a misspelt input
  await client.model('add-sub').infer({ INPUT0: good, INPUT_1: good });
  const floats = tensor('FP32', [1, 16], new Float32Array(16));
  // @ts-expect-error: another datatype
  await client.model('add-sub').infer({ INPUT0: good, INPUT1: floats });
  const short = tensor('INT32', [1, 8], new Int32Array(8));
  // @ts-expect-error: another length
  await client.model('add-sub').infer({ INPUT0: good, INPUT1: short });
  const flat = tensor('INT32', [16], row);
  // @ts-expect-error: an axis too few
  await client.model('add-sub').infer({ INPUT0: good, INPUT1: flat });
  // @ts-expect-error: no such output is asked for
  await client.model('add-sub').infer({ INPUT0: good, INPUT1: good }, { outputs: ['OUTPUT9'] });
  // @ts-expect-error: a picture model takes no rows
  await client.model('cats').infer([1, 2, 3]);
  // @ts-expect-error: a text model takes no bytes
  await client.model('words').infer(new Uint8Array(3));
  // @ts-expect-error: a column is missing
  await client.model('prices').infer({ area: 50 });
  // @ts-expect-error: a misspelt column
  await client.model('prices').infer({ area: 50, room: 2 });
  // @ts-expect-error: elements of another kind
  tensor('INT64', [1], [1]);
  const answer = await client.model('words').infer('hello');
  // @ts-expect-error: an embedding has no predictions
  answer.predictions;
  const { outputs } = await client.model('add-sub').infer({ INPUT0: good, INPUT1: good });
  // @ts-expect-error: no such output
  outputs.OUTPUT9;
  // @ts-expect-error: its elements are integers
  outputs.OUTPUT0.data satisfies Float32Array;
}

/** Without generated types every model takes and gives anything. */
export async function untypedCalls(client: Client): Promise<void> {
  const answer = await client.model('anything').infer([1, 2, 3]);
  const label: string | null | undefined = answer.predictions?.[0]?.label;
  const { outputs } = await client.model('anything').infer({ a: tensor('FP16', [1], [1]) });
  const output: Tensor | undefined = outputs.b;
  if (output?.datatype === 'INT64') output.data satisfies BigInt64Array;
  // @ts-expect-error: it may be of any datatype
  output?.data satisfies Float32Array;
  void label;
}
