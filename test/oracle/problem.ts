import { createHash } from 'node:crypto'
import { buildGraph } from '../../src/model/graph-builder.js'
import { elements, parametersOf, type Graph } from '../../src/model/graph.js'
import { initialParameters } from '../../src/model/initialise.js'
import type { Model } from '../../src/model/model.js'
import { keyOf, philox } from '../../src/model/philox.js'
import type { ZooShape } from '../../src/model/zoo/index.js'

/** A few training steps that two implementations can both take: the same model, weights, batches and optimiser. */
export interface Problem {
  readonly name: string
  readonly model: Model
  readonly batch: number
  readonly steps: number
  readonly rate: number
  readonly momentum: number
  readonly weightDecay: number
  /** Names and shapes of the parameters in canonical order. */
  readonly parameters: readonly { readonly name: string; readonly shape: readonly number[] }[]
  /** First values of all parameters, canonical. */
  readonly weights: Float32Array
  /** What is not a model's usual size, as PyTorch's twin takes it. */
  readonly size?: Readonly<Record<string, number>>
  /** Batch by batch: (batch, ...sample), tokens too, and class numbers (batch) or (batch, T). */
  readonly inputs: readonly Float32Array[]
  readonly targets: readonly Int32Array[]
}

const CLASSES = 10
const SEED = 7

/** Words of 32 random bits, told apart by `stream`. */
function words(count: number, stream: number): Uint32Array {
  const all = new Uint32Array(Math.ceil(count / 4) * 4)
  for (let i = 0; i < all.length; i += 4) all.set(philox(keyOf(SEED), [i / 4, 0, stream, 0]), i)
  return all.subarray(0, count)
}

/**
 * Steps of SGD on pixels from -2 to 2 in steps of 1/64, which float32 holds exactly. In a deep network with batch norm the rounding errors of float32
 * grow from layer to layer until gradients say little. With `gentle` its batch norms begin at gamma 1/2 and beta 1: most units then pass what they get,
 * and errors stay small.
 */
export function problemOf(
  make: (shape: ZooShape) => Model,
  options: { sample: readonly number[]; batch: number; steps: number; size?: Readonly<Record<string, number>>; gentle?: boolean }
): Problem {
  const { sample, batch, steps, size, gentle = false } = options
  const model = make({ input: sample, classes: CLASSES })
  const graph = buildGraph(model, { batch, mode: 'train' })
  const pixels = batch * sample.reduce((product, extent) => product * extent, 1)
  const streams = Array.from({ length: steps }, (_, step) => 100 + 2 * step)
  return {
    name: model.name,
    model,
    batch,
    steps,
    rate: 0.01,
    momentum: 0.9,
    weightDecay: 1e-4,
    parameters: parametersOf(graph).map(({ name: parameter, shape }) => ({ name: parameter, shape })),
    weights: gentle ? withGentleNorms(graph, initialParameters(graph, SEED)) : initialParameters(graph, SEED),
    ...(size && { size }),
    inputs: streams.map((stream) => Float32Array.from(words(pixels, stream), (word) => ((word >>> 24) - 128) / 64)),
    targets: streams.map((stream) => Int32Array.from(words(batch, stream + 1), (word) => word % CLASSES))
  }
}

function withGentleNorms(graph: Graph, weights: Float32Array): Float32Array {
  const norms = graph.operators.filter(({ kind }) => kind === 'batchNorm')
  const [gammas, betas] = [1, 2].map((input) => new Set(norms.map(({ inputs }) => inputs[input])))
  let offset = 0
  for (const { id, shape } of parametersOf(graph)) {
    const values = weights.subarray(offset, (offset += elements(shape)))
    if (gammas!.has(id)) values.fill(0.5)
    else if (betas!.has(id)) values.fill(1)
  }
  return weights
}

/** The same over windows of a row of tokens, side by side. */
export function textProblemOf(
  make: (shape: ZooShape) => Model,
  options: { context: number; batch: number; steps: number; size: Readonly<Record<string, number>> }
): Problem {
  const { context, batch, steps, size } = options
  const problem = problemOf(make, { sample: [context], batch, steps, size })
  const row = Int32Array.from(words(steps * batch * context + 1, 100), (word) => word % CLASSES)
  const parts = <T>(cut: (from: number, until: number) => T): T[] =>
    Array.from({ length: steps }, (_, step) => cut(step * batch * context, (step + 1) * batch * context))
  return {
    ...problem,
    inputs: parts((from, until) => Float32Array.from(row.subarray(from, until))),
    targets: parts((from, until) => row.slice(from + 1, until + 1))
  }
}

/** The same with a class for each position of the output, of which every fourth has none. */
export function positionsProblemOf(...given: Parameters<typeof problemOf>): Problem {
  const problem = problemOf(...given)
  const { shape } = buildGraph(problem.model, { batch: problem.batch, mode: 'train' }).values.find(({ role }) => role === 'target')!
  const targets = problem.targets.map((_, step) =>
    Int32Array.from(words(elements(shape), 900 + step), (word) => (word % 4 === 0 ? -1 : (word >>> 2) % CLASSES))
  )
  return { ...problem, targets }
}

/** The same over texts in bytes, each of another length, with zeros behind its end and a class of its own. */
export function paddedProblemOf(
  make: (shape: ZooShape) => Model,
  options: { context: number; batch: number; steps: number; size: Readonly<Record<string, number>> }
): Problem {
  const { context, batch, steps, size } = options
  const problem = problemOf(make, { sample: [context], batch, steps, size })
  const bytes = (stream: number) => {
    const [values, lengths] = [words(batch * context, stream), words(batch, stream + 1)]
    return Float32Array.from(values, (word, i) => (i % context > lengths[Math.floor(i / context)]! % context ? 0 : 1 + (word % 255)))
  }
  return { ...problem, inputs: Array.from({ length: steps }, (_, step) => bytes(500 + 2 * step)) }
}

/** Of weights, inputs and targets: two problems with the same one are the same to the last bit. */
export function fingerprint(problem: Problem): string {
  const hash = createHash('sha256')
  for (const data of [problem.weights, ...problem.inputs, ...problem.targets])
    hash.update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
  return hash.digest('hex')
}
