import { type Block, GimbalError, type VersionView } from '@gimbal/core';
import type { BodySink } from '../../http1/exchange.ts';
import { ACCEPTED_CODINGS, type ContentCoding, codingOf, expand } from '../front/content-coding.ts';
import type { EdgePorts, EdgeRequest } from '../route.ts';
import { type BodyKind, type DeclaredBody, declaredBody, sniffedKind } from './body-kind.ts';
import { readFormBody } from './form-body.ts';
import type { ItemMemory } from './item-memory.ts';
import { type JsonForm, readJsonBody } from './json-body.ts';
import { ParameterList } from './parameters.ts';
import { type AnswerWriter, type Intake, Prediction } from './prediction.ts';
import { emptyBody, rawItem } from './raw-item.ts';

/** What a predicting route is about. */
export interface PredictPlan {
  readonly version: VersionView;
  readonly form: JsonForm;
  readonly writer: AnswerWriter;
}

/**
 * Answers one predict request: everything that the head tells is checked and the call admitted before the body is read.
 * What is thrown before that is answered by the front.
 */
export function predict(ports: EdgePorts, request: EdgeRequest, plan: PredictPlan): void {
  new PredictRequest(ports, request, plan).start();
}

class PredictRequest {
  readonly #ports: EdgePorts;
  readonly #request: EdgeRequest;
  readonly #plan: PredictPlan;
  readonly #prediction: Prediction;
  #declared: DeclaredBody = { kind: 'unknown', boundary: '' };

  constructor(ports: EdgePorts, request: EdgeRequest, plan: PredictPlan) {
    this.#ports = ports;
    this.#request = request;
    this.#plan = plan;
    this.#prediction = new Prediction(ports, request, plan);
  }

  start(): void {
    const { exchange } = this.#request;
    const { head } = exchange;
    const { maxBodyBytes } = this.#ports.limits;
    this.#declared = declaredBody(head.header('content-type'), this.#plan.version.spec);
    const coding = this.#codingOf();
    if (coding === 'refused') return;
    const { contentLength } = head;
    if (contentLength === 0) throw emptyBody();
    if (contentLength !== undefined && contentLength > maxBodyBytes) {
      throw new GimbalError(
        'INPUT_TOO_LARGE',
        `Cannot read the body: expected at most ${maxBodyBytes} bytes, got ${contentLength}`,
      );
    }
    const { timeoutMs } = this.#parametersOfQuery().resolve(this.#plan.version.spec);
    this.#prediction.open(timeoutMs);
    this.#read(coding, contentLength);
  }

  /** An unknown coding is refused here and not by a throw, since the refusal has a header of its own. */
  #codingOf(): ContentCoding | undefined | 'refused' {
    try {
      return codingOf(this.#request.exchange.head.header('content-encoding'));
    } catch (error) {
      this.#request.reply.fail(error, { headers: ACCEPTED_CODINGS });
      return 'refused';
    }
  }

  #read(coding: ContentCoding | undefined, contentLength: number | undefined): void {
    const { exchange } = this.#request;
    const { maxBodyBytes } = this.#ports.limits;
    const { kind } = this.#declared;
    if (coding === undefined && contentLength !== undefined && isRaw(kind)) {
      this.#prediction.guard(() => this.#stream(kind, contentLength));
    } else if (coding === undefined) exchange.readBody(maxBodyBytes, this.#onBody, this.#onFail);
    else {
      const expansion = { coding, limitBytes: maxBodyBytes, onBody: this.#onBody, onFail: this.#onFail };
      exchange.readBody(maxBodyBytes, (body) => expand(body, expansion), this.#onFail);
    }
  }

  /** A raw body of known length goes from the socket to arena memory as it arrives. */
  #stream(kind: RawKind, byteLength: number): void {
    const block = this.#prediction.memory.reserve(byteLength);
    const sink = new BlockSink(block, {
      onEnd: () => this.#begin((memory) => this.#rawIntake(kind, block, memory)),
      onFail: this.#onFail,
    });
    this.#request.exchange.streamBody(byteLength, sink);
  }

  readonly #onBody = (body: Uint8Array): void => {
    this.#begin((memory) => this.#intakeOf(body, memory));
  };

  readonly #onFail = (error: GimbalError): void => {
    this.#prediction.fail(error);
  };

  #begin(read: (memory: ItemMemory) => Intake): void {
    // While the body arrived the client may have gone.
    if (this.#prediction.isOpen) this.#prediction.begin(read);
  }

  #intakeOf(body: Uint8Array, memory: ItemMemory): Intake {
    const { spec } = this.#plan.version;
    const { limits } = this.#ports;
    const { boundary } = this.#declared;
    const kind = this.#declared.kind === 'unknown' ? sniffedKind(body, spec) : this.#declared.kind;
    if (isRaw(kind)) return this.#rawIntake(kind, memory.hold(body), memory);
    const parameters = this.#parametersOfQuery();
    const parsed =
      kind === 'form'
        ? readFormBody(body, { spec, memory, limits, boundary, parameters })
        : readJsonBody(body, { spec, memory, limits, form: this.#plan.form, parameters });
    return { list: parsed.list, parameters: parameters.resolve(spec) };
  }

  #rawIntake(kind: RawKind, block: Block, memory: ItemMemory): Intake {
    const { spec } = this.#plan.version;
    const item = rawItem(kind, block, spec);
    memory.keep();
    return {
      list: { form: 'one', items: [item] },
      parameters: this.#parametersOfQuery().resolve(spec),
    };
  }

  #parametersOfQuery(): ParameterList {
    const parameters = new ParameterList();
    if (this.#request.exchange.head.query !== '') parameters.readQuery(this.#request.query);
    return parameters;
  }
}

type RawKind = 'image' | 'text' | 'tensor';

function isRaw(kind: BodyKind): kind is RawKind {
  return kind === 'image' || kind === 'text' || kind === 'tensor';
}

interface SinkEnd {
  readonly onEnd: () => void;
  readonly onFail: (error: GimbalError) => void;
}

/** Fills a block with a body. */
class BlockSink implements BodySink {
  readonly #block: Block;
  readonly #end: SinkEnd;
  #at = 0;

  constructor(block: Block, end: SinkEnd) {
    this.#block = block;
    this.#end = end;
  }

  chunk(bytes: Uint8Array): void {
    this.#block.bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  end(): void {
    this.#end.onEnd();
  }

  fail(error: GimbalError): void {
    this.#end.onFail(error);
  }
}
