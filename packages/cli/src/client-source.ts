/** What a generated client must know of a model. */
export interface DescribedModel {
  readonly name: string;
  readonly task: string;
  readonly inputs: readonly DescribedTensor[];
  readonly outputs: readonly DescribedTensor[];
  readonly columns: readonly string[];
}

export interface DescribedTensor {
  readonly name: string;
  readonly datatype: string;
  /** -1 where a length is free. */
  readonly shape: readonly number[];
}

/** With more columns than anyone writes by name the compiler would only become slow. */
const MAX_COLUMNS = 500;
const MAX_LINE = 110;

/** The TypeScript of `gimbal generate client`. The same models give the same text, whatever their order. */
export function clientSource(models: readonly DescribedModel[]): string {
  const sorted = [...models].sort((left, right) => (left.name < right.name ? -1 : 1));
  return `// Made by \`gimbal generate client\` from the served models. Make it anew when they change.
import { Client, type ClientOptions } from '@gimbal/client';

export type Models = {
${sorted.map(modelSource).join('')}};

/** A client that knows these models: names, shapes and datatypes are checked by the compiler. */
export function createClient(options: ClientOptions): Client<Models> {
  return new Client<Models>(options);
}
`;
}

function modelSource({ name, task, inputs, outputs, columns }: DescribedModel): string {
  return `  ${property(name)}: {
    task: ${literal(task)};
    inputs: {
${inputs.map(tensorSource).join('')}    };
    outputs: {
${outputs.map(tensorSource).join('')}    };
    columns: ${columnsSource(columns)};
  };
`;
}

function tensorSource({ name, datatype, shape }: DescribedTensor): string {
  const axes = shape.map((length) => (length < 0 ? 'number' : String(length))).join(', ');
  return `      ${property(name)}: { datatype: ${literal(datatype)}; shape: readonly [${axes}] };\n`;
}

/** A union of names, wrapped where it is long. */
function columnsSource(columns: readonly string[]): string {
  if (columns.length === 0) return 'never';
  if (columns.length > MAX_COLUMNS) return 'string';
  const names = columns.map(literal);
  const line = names.join(' | ');
  return line.length < MAX_LINE - '    columns: ;'.length
    ? line
    : names.map((name) => `\n      | ${name}`).join('');
}

function property(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name);
}

/** Names come from models: whatever they hold, they stay inside their quotes. */
function literal(text: string): string {
  return /^[^'\\\p{Cc}\p{Cs}\u2028\u2029]*$/u.test(text) ? `'${text}'` : JSON.stringify(text);
}
