import { compile } from '../compiler/compile.js'
import type { Program } from '../compiler/program.js'
import { statisticsRead } from '../compiler/statistics-read.js'
import type { Dataset } from '../data/dataset.js'
import type { TableRow } from '../data/tables/encode.js'
import { numberTarget, type SampleEncoding } from '../formats/encoding.js'
import type { Engine, Handle } from '../engine/contract.js'
import { loweringBackend } from '../engine/lowering.js'
import { invalidOption, shown } from '../errors.js'
import { writeModel, type SaveOptions } from '../formats/save.js'
import type { SavedModel } from '../formats/saved-model.js'
import { dataOf, parameterTensors, type FloatTensors } from '../formats/tensor.js'
import { Tokenizer } from '../formats/tokenizer/tokenizer.js'
import { datasetFault, isDataset } from '../options/dataset-fault.js'
import { type Model, takesTokens } from '../model/model.js'
import { elements } from '../model/graph.js'
import type { LossName } from '../model/operators/losses.js'
import { normalise, type Normalisation } from '../model/normalisation.js'
import { classifications, type Classification } from './classify.js'
import { check } from '../schema/faults.js'
import { group, option } from '../schema/group.js'
import { whole } from '../schema/values.js'
import { encoded } from './encoded.js'
import { checkEncodedAlike } from './encoded-alike.js'
import { charactersOf, generate, tokensBy, type GenerateOptions } from './generate.js'
import { evaluate, type EvaluateOptions, type Measurement } from './evaluate.js'

export interface TrainedModelOptions {
  readonly engine: Engine
  /** Exports the engine. */
  readonly module: URL
  readonly model: Model
  /** Holds the weights and statistics. The trained model owns it from now on. */
  readonly replica: Handle
  readonly program: Program
  readonly normalisation: Normalisation
  readonly classNames?: readonly string[] | undefined
  /** Of a model of a table or of texts. */
  readonly encoding?: SampleEncoding | undefined
  /** The second tier in which the weights lie; absent if that is the device. The trained model owns it, too. */
  readonly moved?: Handle | undefined
  /** With which the replica computes; 1 if omitted. */
  readonly threads?: number
}

/** Batches beside that of the program that predicts: a sample alone must not take as long as a whole batch. */
const SMALLER_BATCHES = [8, 1]

const classifyOptions = group({ top: option(whole({ min: 1 }), { default: 5 }) })

/** Releases a replica when the model that owns it has been garbage-collected. */
const collected = new FinalizationRegistry<() => void>((release) => release())

/** Throws INVALID_OPTION for more or fewer names than a classifier has classes. */
function checkNames({ name, loss }: Model, classNames: readonly string[] | undefined, program: Program): void {
  const classes = program.values[program.named['output']!]!.shape.at(-1)
  if (classNames && loss === 'softmaxCrossEntropy' && classNames.length !== classes)
    throw invalidOption('classNames', classNames, `give ${classes} names, one for each class of model ${name}`)
}

/** The model that results from training. It computes in the thread of its caller. */
export class TrainedModel {
  readonly #options: TrainedModelOptions
  /** Of the bound programs, by their batches. */
  readonly #slots = new Map<number, number>()
  #tokenizer: Tokenizer | undefined

  constructor(options: TrainedModelOptions) {
    this.#options = options
    const { engine, replica, moved } = options
    collected.register(this, () => {
      engine.release(replica)
      if (moved !== undefined) engine.release(moved)
    })
  }

  /** Writes a model's values into a replica, and owns it from now on. Throws UNKNOWN_NAME, SHAPE_MISMATCH, INVALID_OPTION for weights, statistics or names of classes that do not suit. */
  static of(
    { model, weights, statistics, normalisation, classNames, encoding }: SavedModel,
    place: Pick<TrainedModelOptions, 'engine' | 'module' | 'program' | 'replica' | 'threads'>
  ): TrainedModel {
    const trained = new TrainedModel({ ...place, model, normalisation, classNames, encoding })
    const { engine, program, replica } = place
    checkNames(model, classNames, program)
    const vector = new Float32Array(program.parameters.elements)
    for (const { name, shape, canonical } of program.parameters.parameters) vector.set(dataOf(name, shape, weights), canonical)
    for (const { name, shape } of statisticsRead(program)) dataOf(name, shape, statistics)
    engine.writeVector(replica, 'weights', vector)
    for (const [name, { data }] of Object.entries(statistics)) engine.writeValue(replica, trained.#slotOf(program.batch), name, data)
    return trained
  }

  get name(): string {
    return this.#options.model.name
  }

  /** One sample's shape. */
  get input(): readonly number[] {
    return this.#options.model.input
  }

  /** The loss that it was trained with: under `softmaxCrossEntropy` its outputs are logits of classes. */
  get loss(): LossName {
    return this.#options.model.loss
  }

  /** Names of the classes, if the data had them. */
  get classNames(): readonly string[] | undefined {
    return this.#options.classNames
  }

  /** How rows of a table, texts or images become samples, if the model was trained on a table, on texts or on a folder of images. */
  get encoding(): SampleEncoding | undefined {
    return this.#options.encoding
  }

  /**
   * The model's outputs (n, ...output), logits for a classifier, for any number n of samples (n, ...sample). Bytes are pixels from 0 to 255, floats are
   * on the scale of 0 to 1; both are normalised as the training data was. A model of tokens takes their ids as an Int32Array. A model of a
   * table takes rows, and one of texts takes texts; numbers that they predict are in the unit of the target. Throws INVALID_OPTION, also for numbers that are not finite.
   */
  predict(samples: Float32Array | Uint8Array | Int32Array | readonly TableRow[] | readonly string[]): Float32Array {
    const { encoding } = this.#options
    const outputs = this.#outputs(encoded(encoding, samples))
    const target = encoding && numberTarget(encoding)
    return target ? outputs.map((output) => output * target.std + target.mean) : outputs
  }

  #outputs(samples: Float32Array | Uint8Array | Int32Array): Float32Array {
    const { engine, replica, program, normalisation } = this.#options
    const { shape, type } = program.values[program.named['input']!]!
    const size = elements(shape.slice(1))
    // Not by its class, of which another realm has its own, as where Jest runs a program.
    const kind = ArrayBuffer.isView(samples) ? samples[Symbol.toStringTag] : undefined
    const suits = type === 'i32' ? kind === 'Int32Array' : kind === 'Float32Array' || kind === 'Uint8Array'
    if (!suits || samples.length % size !== 0) {
      const taken = `use ${type === 'i32' ? 'an Int32Array' : 'a Float32Array or Uint8Array'} of whole samples, ${size} numbers each`
      throw invalidOption('samples', samples, typeof samples === 'string' ? `${taken}; readImage makes one of an image` : taken)
    }
    // A layer such as ReLU makes a number of a NaN: the outputs would look like those of any sample.
    const at = kind === 'Float32Array' ? samples.findIndex((value) => !Number.isFinite(value)) : -1
    if (at >= 0) throw invalidOption(`samples[${at}]`, samples[at], 'use finite numbers: correct or remove that sample')
    const count = samples.length / size
    const outputSize = elements(program.values[program.named['output']!]!.shape.slice(1))
    const outputs = new Float32Array(count * outputSize)
    const room = Math.min(count, program.batch) * size
    const input = type === 'i32' ? new Int32Array(room) : new Float32Array(room)
    for (let from = 0, batch = 0; from < count; from += batch) {
      batch = this.#batchOf(count - from)
      const slot = this.#slotOf(batch)
      const [some, to] = [samples.subarray(from * size, (from + batch) * size), input.subarray(0, batch * size)]
      if (to instanceof Int32Array) to.set(some)
      else normalise(some as Float32Array | Uint8Array, normalisation, shape.slice(1), to)
      engine.writeValue(replica, slot, 'input', to)
      engine.run(replica, slot, { steps: 1, milliseconds: 0 })
      outputs.set(engine.readValue(replica, slot, 'output'), from * outputSize)
    }
    return outputs
  }

  /**
   * Continues `prompt` with a model of a text: `length` characters (200), or tokens if it has a tokenizer, each drawn by its probability. The same seed gives the same text. Throws
   * INVALID_OPTION, also for any other model.
   */
  generate(prompt: string, options: GenerateOptions = {}): string {
    const { engine, model, replica } = this.#options
    const written = this.#writing()
    const slot = this.#slotOf(1)
    const context = model.input[0]!
    const next = (tokens: Int32Array): Float32Array => {
      // The zeros after the last token do not change the outputs before them.
      const input = new Int32Array(context)
      input.set(tokens)
      engine.writeValue(replica, slot, 'input', input)
      engine.run(replica, slot, { steps: 1, milliseconds: 0 })
      const output = engine.readValue(replica, slot, 'output') as Float32Array
      const size = output.length / context
      return output.subarray((tokens.length - 1) * size, tokens.length * size)
    }
    return generate({ ...written, context, next }, prompt, options)
  }

  /** Texts to the model's tokens and back. Throws INVALID_OPTION for a model that does not write. */
  #writing(): ReturnType<typeof tokensBy> {
    const { model, classNames, encoding } = this.#options
    if (encoding?.kind === 'language') return tokensBy((this.#tokenizer ??= Tokenizer.of(encoding.tokenizer, model.name)))
    if (takesTokens(model) && classNames && !encoding) return charactersOf(classNames)
    throw invalidOption('model', model.name, 'only a model that was trained on a text writes one')
  }

  /**
   * The `top` likeliest classes (5) of each sample, with names and probabilities; of each position, one after another, where the model answers at each. Takes what `predict` takes. Throws
   * INVALID_OPTION, also for a model that is not a classifier.
   */
  classify(
    samples: Float32Array | Uint8Array | Int32Array | readonly TableRow[] | readonly string[],
    options: { readonly top?: number } = {}
  ): Classification[][] {
    const { top } = check(classifyOptions, options)
    const { model, program, classNames: names } = this.#options
    const output = program.values[program.named['output']!]!.shape.slice(1)
    const classes = output.at(-1)
    if (model.loss !== 'softmaxCrossEntropy' || classes === undefined)
      throw invalidOption('model', model.name, `it gives ${shown(output)} under ${model.loss}; only a classifier has classes: use predict`)
    return classifications(this.predict(samples), { classes, names, top })
  }

  /**
   * Measures loss, accuracy and [other metrics](#evaluationmetrics) on the test samples of a data set, normalised as in training, in several threads. A class has the number that the model has
   * for its name, if the model has all of the names. Throws SHAPE_MISMATCH if the samples do not suit the model, INVALID_OPTION for rows that were encoded otherwise than those of the training,
   * for a text of other characters or tokens and for targets of a binary cross-entropy that are not from 0 to 1, and OUT_OF_MEMORY.
   */
  async evaluate(data: Dataset, options: EvaluateOptions = {}): Promise<Measurement> {
    if (!isDataset(data)) throw invalidOption('data', data, 'give a Dataset, as openDataset or datasetFromArrays makes it')
    const fault = datasetFault(data)
    if (fault !== undefined) throw invalidOption('data', data.name, fault)
    const { model, classNames, encoding } = this.#options
    checkEncodedAlike(model.name, encoding, data)
    const { inKnownClasses } = await import('../data/classes-of-model.js')
    return evaluate(this.#options, this.statistics(), inKnownClasses({ ...model, classNames }, data), options)
  }

  /** Copies of the parameters by name, each in PyTorch's order. */
  weights(): FloatTensors {
    const { engine, replica, program } = this.#options
    return parameterTensors(program.parameters.parameters, engine.readVector(replica, 'weights'))
  }

  /** Copies of the batch-norm statistics by name: each layer's running mean and variance, and the number of batches that they describe. */
  statistics(): FloatTensors {
    const { engine, replica, program } = this.#options
    const slot = this.#slotOf(program.batch)
    const kept = program.values.filter(({ role }) => role === 'statistic')
    return Object.fromEntries(
      kept.map(({ name, shape }) => [name, { shape, data: Float32Array.from(engine.readValue(replica, slot, name)) }])
    )
  }

  /**
   * Writes the model to a file that appears only when it is whole, in the format that its ending names or `format` says.
   *
   * - `onnx`: the network from `input` (N, ...sample) to `output`, logits for a classifier, for any batch N. It takes samples in 0 to 1
   *   (bytes divided by 255); with `normalise: false` samples that are normalised already.
   * - `safetensors`: weights and running statistics in PyTorch's names, ready for `load_state_dict`; layers, normalisation and class names
   *   are in its metadata, so that `loadModel` needs nothing else.
   * - `huggingface`, or a path that ends in `/`: a new folder for transformers, for a GPT, a ResNet or a vision transformer.
   *
   * Throws INVALID_OPTION, UNSUPPORTED_OPERATOR for a model that has no form there, and WRITE_FAILED.
   */
  async save(path: string, options: SaveOptions = {}): Promise<void> {
    const { model, normalisation, classNames, encoding } = this.#options
    const names = { ...(classNames && { classNames }), ...(encoding && { encoding }) }
    await writeModel(path, { model, normalisation, ...names, weights: this.weights(), statistics: this.statistics() }, options)
  }

  /** The largest batch that has no more samples than these. */
  #batchOf(samples: number): number {
    const { batch: largest } = this.#options.program
    return [largest, ...SMALLER_BATCHES].find((batch) => batch <= Math.min(samples, largest))!
  }

  /** Where the program of a batch is bound. */
  #slotOf(batch: number): number {
    const bound = this.#slots.get(batch)
    if (bound !== undefined) return bound
    const { engine, replica, program } = this.#options
    const handle = engine.createProgram(batch === program.batch ? program : this.#programOf(batch))
    try {
      const slot = engine.bind(replica, handle)
      this.#slots.set(batch, slot)
      return slot
    } finally {
      engine.release(handle)
    }
  }

  #programOf(batch: number): Program {
    const { engine, model, program, moved, threads } = this.#options
    const { backend, precision, parameters } = program
    const vectors = moved === undefined ? 'device' : 'host'
    return compile(model, loweringBackend(engine, backend, threads), { mode: 'predict', batch, precision, parameters, vectors })
  }
}
