import type { PlacedParameter, Program } from '../compiler/program.js'
import type { Dataset } from '../data/dataset.js'
import type { Engine, Handle } from '../engine/contract.js'
import { invalidOption } from '../errors.js'
import { saveModel, type SaveOptions } from '../formats/save.js'
import type { FloatTensors, Tensor } from '../formats/tensor.js'
import type { Model } from '../model/model.js'

export interface TrainedModelOptions {
  readonly engine: Engine
  readonly model: Model
  /** Holds the central model's weights and statistics; it is the model's from here on. */
  readonly replica: Handle
  readonly program: Program
  readonly normalisation: Pick<Dataset, 'mean' | 'deviation'>
}

/** A replica goes when the model that held it is forgotten. */
const forgotten = new FinalizationRegistry<() => void>((release) => release())

/** The central model when training has ended. It answers in the thread that asks. */
export class TrainedModel {
  readonly #options: TrainedModelOptions
  #slot: number | undefined

  constructor(options: TrainedModelOptions) {
    this.#options = options
    const { engine, replica } = options
    forgotten.register(this, () => engine.release(replica))
  }

  /**
   * The model's outputs (n, ...output), logits for a classifier, for any number n of samples (n, ...sample): bytes are pixels from 0 to
   * 255, floats are on the scale of 0 to 1; both are normalised as the training data was. Throws INVALID_OPTION.
   */
  predict(samples: Float32Array | Uint8Array): Float32Array {
    const { engine, replica, program } = this.#options
    const { shape } = program.values[program.named['input']!]!
    const size = product(shape.slice(1))
    if (!(samples instanceof Float32Array || samples instanceof Uint8Array) || samples.length % size !== 0)
      throw invalidOption(
        'batch',
        samples?.constructor?.name ?? samples,
        `use a Float32Array or Uint8Array of whole samples, ${size} numbers each`
      )
    const slot = this.#bound()
    const count = samples.length / size
    const outputSize = product(program.values[program.named['output']!]!.shape.slice(1))
    const outputs = new Float32Array(count * outputSize)
    // The last batch is filled up with zeros: a prediction does not depend on its neighbours.
    const input = new Float32Array(program.batch * size)
    for (let from = 0; from < count; from += program.batch) {
      const until = Math.min(count, from + program.batch)
      this.#normalise(samples.subarray(from * size, until * size), input, shape)
      engine.writeValue(replica, slot, 'input', input)
      engine.run(replica, slot, { steps: 1, milliseconds: 0 })
      const output = engine.readValue(replica, slot, 'output') as Float32Array
      outputs.set(output.subarray(0, (until - from) * outputSize), from * outputSize)
    }
    return outputs
  }

  /** The parameters by name, each in PyTorch's order: copies. */
  weights(): FloatTensors {
    const { engine, replica, program } = this.#options
    const vector = engine.readVector(replica, 'weights')
    const tensor = ({ name, shape, canonical }: PlacedParameter): [string, Tensor<Float32Array>] => [
      name,
      { shape, data: Float32Array.from(vector.subarray(canonical, canonical + product(shape))) }
    ]
    return Object.fromEntries(program.parameters.parameters.map(tensor))
  }

  /** What batch norms keep, by name: the running mean and variance of each, and how many batches these are the moments of. */
  statistics(): FloatTensors {
    const { engine, replica, program } = this.#options
    const kept = program.values.filter(({ role }) => role === 'statistic')
    return Object.fromEntries(
      kept.map(({ name, shape }) => [name, { shape, data: Float32Array.from(engine.readValue(replica, this.#bound(), name)) }])
    )
  }

  /**
   * Writes the model to a file that appears only when it is whole, in the format that its ending names or `format` says.
   *
   * - `onnx`: the network from `input` (N, ...sample) to `output`, logits for a classifier, for any batch N. It takes samples in 0 to 1
   *   (bytes divided by 255); with `normalise: false` samples that are normalised already.
   * - `safetensors`: weights and running statistics in PyTorch's names, ready for `load_state_dict`; the normalisation is in its metadata.
   *
   * Throws INVALID_OPTION and WRITE_FAILED.
   */
  async save(path: string, options: SaveOptions = {}): Promise<void> {
    const { model, normalisation } = this.#options
    await saveModel(path, { model, normalisation, weights: this.weights(), statistics: this.statistics() }, options)
  }

  #bound(): number {
    return (this.#slot ??= this.#bind())
  }

  #bind(): number {
    const { engine, replica, program } = this.#options
    const handle = engine.createProgram(program)
    const slot = engine.bind(replica, handle)
    engine.release(handle)
    return slot
  }

  /** As the load operator does it: bytes become shares of 255, then each channel is shifted and scaled. */
  #normalise(samples: Float32Array | Uint8Array, to: Float32Array, [, channels = 1, ...pixels]: readonly number[]): void {
    const { mean, deviation } = this.#options.normalisation
    const unit = samples instanceof Uint8Array ? 255 : 1
    const size = product(pixels)
    for (let i = 0; i < samples.length; i++) {
      const channel = Math.floor(i / size) % channels
      to[i] = (samples[i]! / unit - (mean[channel] ?? mean[0] ?? 0)) / (deviation[channel] ?? deviation[0] ?? 1)
    }
  }
}

function product(shape: readonly number[]): number {
  return shape.reduce((sum, extent) => sum * extent, 1)
}
