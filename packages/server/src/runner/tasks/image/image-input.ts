import { GimbalError, type ImageSpec, type Signature } from '@gimbal/core';
import type { PreparedInput } from '../task.ts';
import { frame, type Size } from './framing.ts';
import { decodeImage, readImageHeader } from './image-decoder.ts';
import { ImageTensorWriter } from './image-tensor.ts';
import { TensorMemory } from './tensor-memory.ts';

/** What an answer must know of its picture: the size when upright, and the size at which the network saw it. */
export interface ImageContext {
  readonly upright: Size;
  readonly network: Size;
}

/** Turns encoded images into the one input tensor of an image model. */
export class ImageInput {
  readonly #image: ImageSpec;
  readonly #memory = new TensorMemory();
  readonly #tensors: ImageTensorWriter;

  constructor(signature: Signature, image: ImageSpec) {
    const input = signature.inputs[0];
    if (input === undefined || signature.inputs.length !== 1) {
      throw new GimbalError(
        'UNSUPPORTED',
        `Cannot prepare images: the model has ${signature.inputs.length} inputs, expected one`,
      );
    }
    this.#image = image;
    this.#tensors = new ImageTensorWriter(image, input.datatype, this.#memory);
  }

  async prepare(bytes: Uint8Array): Promise<PreparedInput & { readonly context: ImageContext }> {
    const header = await readImageHeader(bytes);
    const framing = frame(this.#image, header.upright);
    const tensor = await decodeImage(bytes, header, { ...framing, resize: this.#image.resize }, (pixels) =>
      this.#tensors.write(pixels, header.turn),
    );
    return { tensors: [tensor], context: { upright: header.upright, network: framing.network } };
  }

  release(item: PreparedInput): void {
    for (const { bytes } of item.tensors) this.#memory.give(bytes);
  }
}
