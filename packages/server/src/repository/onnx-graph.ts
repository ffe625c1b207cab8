import { datatypeOfOnnx, GimbalError, type TensorSpec } from '@gimbal/core';
import { elementTypeName } from './element-type.ts';
import type { OperatorCount, OperatorSet } from './onnx-model.ts';
import { malformed, type ProtobufCursor, type ProtobufField, WIRE } from './protobuf-cursor.ts';

/** Loops in loops in conditions: real graphs nest three deep. */
const MAX_GRAPH_DEPTH = 16;
const MAX_INITIALIZERS = 1_000_000;
const MAX_SIGNATURE_TENSORS = 1_024;
const MAX_RANK = 64;
const MAX_OPERATOR_KINDS = 4_096;
const MAX_OPERATOR_SETS = 256;
const MAX_EXTERNAL_FILES = 4_096;

/** Kinds of values other than tensors, by field number of TypeProto. */
const OTHER_KINDS: Readonly<Record<number, string>> = {
  4: 'a sequence',
  5: 'a map',
  7: 'an opaque value',
  8: 'a sparse tensor',
  9: 'an optional value',
};

/** Where tensor data outside the file must reach to. */
export interface ExternalReference {
  readonly location: string;
  needs: number;
}

interface ValueInfo {
  readonly name: string;
  readonly kind: string;
  readonly elementType: number;
  /** Undefined when the file does not say the rank. */
  readonly axes: readonly Axis[] | undefined;
}

interface Axis {
  readonly length: number;
  readonly name: string | null;
}

/** Field numbers are those of onnx.proto (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto). */
export class OnnxGraphReader {
  irVersion: number | undefined;
  producerName = '';
  producerVersion = '';
  graphName = '';
  hasGraph = false;
  operatorTotal = 0;
  initializerCount = 0;
  initializerBytes = 0;
  readonly operatorSets: OperatorSet[] = [];
  readonly external = new Map<string, ExternalReference>();
  readonly #cursor: ProtobufCursor;
  readonly #inputs: ValueInfo[] = [];
  readonly #outputs: ValueInfo[] = [];
  readonly #initializerNames = new Set<string>();
  readonly #operators = new Map<string, { domain: string; name: string; count: number }>();

  constructor(cursor: ProtobufCursor) {
    this.#cursor = cursor;
  }

  async readModel(): Promise<void> {
    await this.#cursor.eachField(this.#cursor.size, (field) => this.#modelField(field));
  }

  get operators(): OperatorCount[] {
    return [...this.#operators.values()].sort(
      (left, right) => right.count - left.count || left.name.localeCompare(right.name),
    );
  }

  inputs(): TensorSpec[] {
    return this.#inputs
      .filter((input) => !this.#initializerNames.has(input.name))
      .map((input) => tensorSpec(input, 'input'));
  }

  outputs(): TensorSpec[] {
    return this.#outputs.map((output) => tensorSpec(output, 'output'));
  }

  get unknownRanks(): string[] {
    return [...this.#inputs, ...this.#outputs]
      .filter((value) => value.axes === undefined && !this.#initializerNames.has(value.name))
      .map((value) => value.name);
  }

  #modelField(field: ProtobufField): Promise<void> | undefined {
    switch (field.number) {
      case 1:
        this.irVersion = varintOf(field);
        return undefined;
      case 2:
        return this.#text(field, (text) => {
          this.producerName = text;
        });
      case 3:
        return this.#text(field, (text) => {
          this.producerVersion = text;
        });
      case 7:
        this.hasGraph = true;
        return this.#graph(message(field), 0);
      case 8:
        return this.#operatorSet(message(field));
      case 25:
        return this.#function(message(field));
      default:
        return undefined;
    }
  }

  async #operatorSet(field: ProtobufField): Promise<void> {
    let domain = '';
    let version = 0;
    await this.#cursor.eachField(field.end, (inner) => {
      if (inner.number === 2) version = varintOf(inner);
      if (inner.number !== 1) return undefined;
      return this.#text(inner, (text) => {
        domain = text === 'ai.onnx' ? '' : text;
      });
    });
    if (this.operatorSets.length >= MAX_OPERATOR_SETS) throw malformed('it uses too many operator sets');
    this.operatorSets.push({ domain, version });
  }

  #function(field: ProtobufField): Promise<void> {
    return this.#cursor.eachField(field.end, (inner) =>
      inner.number === 7 ? this.#operator(message(inner), 1) : undefined,
    );
  }

  #graph(field: ProtobufField, depth: number): Promise<void> {
    if (depth > MAX_GRAPH_DEPTH) throw malformed(`graphs are nested more than ${MAX_GRAPH_DEPTH} deep`);
    return this.#cursor.eachField(field.end, (inner) => this.#graphField(inner, depth));
  }

  #graphField(field: ProtobufField, depth: number): Promise<void> | undefined {
    switch (field.number) {
      case 1:
        return this.#operator(message(field), depth);
      case 2:
        if (depth > 0) return undefined;
        return this.#text(field, (text) => {
          this.graphName = text;
        });
      case 5:
        return this.#initializer(message(field), depth === 0);
      case 11:
        return depth === 0 ? this.#valueInfo(message(field), this.#inputs) : undefined;
      case 12:
        return depth === 0 ? this.#valueInfo(message(field), this.#outputs) : undefined;
      case 15:
        return this.#sparseInitializer(message(field), depth === 0);
      default:
        return undefined;
    }
  }

  async #operator(field: ProtobufField, depth: number): Promise<void> {
    let name = '';
    let domain = '';
    await this.#cursor.eachField(field.end, (inner) => {
      switch (inner.number) {
        case 4:
          return this.#text(inner, (text) => {
            name = text;
          });
        case 5:
          return this.#attribute(message(inner), depth);
        case 7:
          return this.#text(inner, (text) => {
            domain = text === 'ai.onnx' ? '' : text;
          });
        default:
          return undefined;
      }
    });
    this.#count(domain, name);
  }

  #count(domain: string, name: string): void {
    this.operatorTotal += 1;
    const key = `${domain}:${name}`;
    const entry = this.#operators.get(key);
    if (entry !== undefined) entry.count += 1;
    else if (this.#operators.size >= MAX_OPERATOR_KINDS)
      throw malformed('it has too many kinds of operators');
    else this.#operators.set(key, { domain, name, count: 1 });
  }

  #attribute(field: ProtobufField, depth: number): Promise<void> {
    return this.#cursor.eachField(field.end, (inner) => {
      switch (inner.number) {
        case 5:
        case 10:
          return this.#tensor(message(inner), () => {});
        case 6:
        case 11:
          return this.#graph(message(inner), depth + 1);
        default:
          return undefined;
      }
    });
  }

  #initializer(field: ProtobufField, named: boolean): Promise<void> {
    return this.#tensor(field, (name) => {
      this.initializerCount += 1;
      if (this.initializerCount > MAX_INITIALIZERS) throw malformed('it has too many initializers');
      if (named) this.#initializerNames.add(name);
    });
  }

  #sparseInitializer(field: ProtobufField, named: boolean): Promise<void> {
    return this.#cursor.eachField(field.end, (inner) => {
      if (inner.number === 1) return this.#initializer(message(inner), named);
      return inner.number === 2 ? this.#tensor(message(inner), () => {}) : undefined;
    });
  }

  /** Data is never read: only counted, or followed to the file that holds it. */
  async #tensor(field: ProtobufField, onName: (name: string) => void): Promise<void> {
    const reference = { location: '', offset: 0, byteLength: 0 };
    let name = '';
    await this.#cursor.eachField(field.end, (inner) => {
      switch (inner.number) {
        case 4:
        case 5:
        case 6:
        case 7:
        case 9:
        case 10:
        case 11:
          this.initializerBytes += inner.end - this.#cursor.position;
          return undefined;
        case 8:
          return this.#text(inner, (text) => {
            name = text;
          });
        case 13:
          return this.#externalEntry(message(inner), reference);
        default:
          return undefined;
      }
    });
    onName(name);
    if (reference.location !== '') this.#refer(reference);
  }

  async #externalEntry(
    field: ProtobufField,
    reference: { location: string; offset: number; byteLength: number },
  ): Promise<void> {
    let key = '';
    let value = '';
    await this.#cursor.eachField(field.end, (inner) => {
      if (inner.number === 1) {
        return this.#text(inner, (text) => {
          key = text;
        });
      }
      if (inner.number !== 2) return undefined;
      return this.#text(inner, (text) => {
        value = text;
      });
    });
    if (key === 'location') reference.location = value;
    if (key === 'offset') reference.offset = wholeNumber(value);
    if (key === 'length') reference.byteLength = wholeNumber(value);
  }

  #refer({ location, offset, byteLength }: { location: string; offset: number; byteLength: number }): void {
    const needs = offset + byteLength;
    this.initializerBytes += byteLength;
    const known = this.external.get(location);
    if (known !== undefined) known.needs = Math.max(known.needs, needs);
    else if (this.external.size >= MAX_EXTERNAL_FILES)
      throw malformed('it refers to too many external files');
    else this.external.set(location, { location, needs });
  }

  async #valueInfo(field: ProtobufField, list: ValueInfo[]): Promise<void> {
    if (list.length >= MAX_SIGNATURE_TENSORS) {
      throw malformed(`it has more than ${MAX_SIGNATURE_TENSORS} inputs or outputs`);
    }
    let name = '';
    let type: Omit<ValueInfo, 'name'> = { kind: '', elementType: 0, axes: undefined };
    await this.#cursor.eachField(field.end, (inner) => {
      if (inner.number === 1) {
        return this.#text(inner, (text) => {
          name = text;
        });
      }
      if (inner.number !== 2) return undefined;
      return this.#type(message(inner)).then((read) => {
        type = read;
      });
    });
    list.push({ name, ...type });
  }

  async #type(field: ProtobufField): Promise<Omit<ValueInfo, 'name'>> {
    let kind = '';
    let elementType = 0;
    let axes: Axis[] | undefined;
    await this.#cursor.eachField(field.end, (inner) => {
      kind = inner.number === 1 ? 'a tensor' : (OTHER_KINDS[inner.number] ?? kind);
      if (inner.number !== 1) return undefined;
      return this.#cursor.eachField(message(inner).end, (part) => {
        if (part.number === 1) elementType = varintOf(part);
        if (part.number !== 2) return undefined;
        return this.#shape(message(part)).then((read) => {
          axes = read;
        });
      });
    });
    return { kind, elementType, axes };
  }

  async #shape(field: ProtobufField): Promise<Axis[]> {
    const axes: Axis[] = [];
    await this.#cursor.eachField(field.end, (inner) => {
      if (inner.number !== 1) return undefined;
      if (axes.length >= MAX_RANK) throw malformed(`a tensor has more than ${MAX_RANK} axes`);
      return this.#axis(message(inner)).then((axis) => {
        axes.push(axis);
      });
    });
    return axes;
  }

  async #axis(field: ProtobufField): Promise<Axis> {
    let length = -1;
    let name: string | null = null;
    await this.#cursor.eachField(field.end, (inner) => {
      if (inner.number === 1) length = axisLength(varintOf(inner));
      if (inner.number !== 2) return undefined;
      return this.#text(inner, (text) => {
        name = text === '' ? null : text;
      });
    });
    return length >= 0 ? { length, name: null } : { length: -1, name };
  }

  #text(field: ProtobufField, keep: (text: string) => void): Promise<void> {
    return this.#cursor.text(field).then(keep);
  }
}

function tensorSpec(value: ValueInfo, role: 'input' | 'output'): TensorSpec {
  const datatype = datatypeOfOnnx(elementTypeName(value.elementType));
  if (value.kind !== 'a tensor' || datatype === undefined) {
    throw unsupportedValue(value, role);
  }
  const axes = value.axes ?? [];
  return {
    name: value.name,
    datatype,
    shape: axes.map((axis) => axis.length),
    axisNames: axes.map((axis) => axis.name),
  };
}

function unsupportedValue(value: ValueInfo, role: 'input' | 'output'): GimbalError {
  const isTensor = value.kind === 'a tensor';
  const got = isTensor ? elementTypeName(value.elementType) : value.kind || 'no type';
  const hint = isTensor
    ? 'add Cast operators to float32 or float16 at the edges of the graph'
    : 'export tensors only (for scikit-learn: options={"zipmap": False})';
  return new GimbalError('MODEL_UNAVAILABLE', `${role} ${JSON.stringify(value.name)} is ${got}`, {
    extra: { fault: 'unsupported', got, hint },
  });
}

function message(field: ProtobufField): ProtobufField {
  if (field.wire !== WIRE.bytes) throw malformed(`protobuf field ${field.number} holds no message`);
  return field;
}

function varintOf(field: ProtobufField): number {
  if (field.wire !== WIRE.varint) throw malformed(`protobuf field ${field.number} holds no integer`);
  return field.value;
}

function axisLength(value: number): number {
  if (value < 0) return -1;
  if (!Number.isSafeInteger(value)) throw malformed(`an axis is ${value} long`);
  return value;
}

function wholeNumber(text: string): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value))
    throw malformed(`external data has the offset or length ${JSON.stringify(text)}`);
  return value;
}
