import { ArbalestError, invalidOption } from '../errors.js'
import { atOnce, inTurns, type Pieces } from '../turns.js'
import { elements, parametersOf, type Graph, type Initialiser } from './graph.js'
import { keyOf, philoxInto, type Words2 } from './philox.js'

/** Numbers drawn at one go: a few milliseconds' work, in whole draws of four. */
const PIECE = 2 ** 16

/** What the stream of random numbers is for, as in native/src/core/random.h. */
const INITIALISE = 3

/**
 * The first values of a graph's parameters in canonical order: parameters in the graph's order, each in PyTorch's order.
 *
 * A function of the seed, the parameter's place in the order and the element alone. Throws INVALID_OPTION for a seed that is not a
 * whole number from 0 to 2^53 - 1, and OUT_OF_MEMORY.
 */
export function initialParameters(graph: Graph, seed: number): Float32Array {
  return atOnce(drawInitialParameters(graph, seed))
}

/** The same numbers, drawn in turns with the event loop: those of a large model take seconds. */
export function initialParametersInTurns(graph: Graph, seed: number): Promise<Float32Array> {
  return inTurns(drawInitialParameters(graph, seed), { slice: 0 })
}

/** Yields after every piece. */
function* drawInitialParameters(graph: Graph, seed: number): Pieces<Float32Array> {
  if (!Number.isSafeInteger(seed) || seed < 0) throw invalidOption('seed', seed, 'use a whole number from 0 to 2^53 - 1')
  if (!Array.isArray((graph as Partial<Graph> | null)?.values))
    throw invalidOption('graph', graph, 'give a Graph, as predictionGraph makes it')
  const parameters = parametersOf(graph)
  const values = floats(parameters.reduce((sum, parameter) => sum + elements(parameter.shape), 0))
  let offset = 0
  for (const [index, parameter] of parameters.entries()) {
    const end = offset + elements(parameter.shape)
    if (!parameter.initialiser) throw new ArbalestError('INVALID_MODEL', `parameter ${parameter.name}: it has no initialiser; give it one`)
    const own = values.subarray(offset, end)
    offset = end
    for (let from = 0; from < own.length; from += PIECE) {
      fill(own, [from, Math.min(from + PIECE, own.length)], parameter.initialiser, keyOf(seed), index)
      yield
    }
  }
  return values
}

function floats(count: number): Float32Array {
  try {
    return new Float32Array(count)
  } catch (cause) {
    throw new ArbalestError('OUT_OF_MEMORY', `parameters: ${count} numbers could not be allocated; use a smaller model`, { cause })
  }
}

function fill(
  values: Float32Array,
  [from, until]: readonly [number, number],
  initialiser: Initialiser,
  key: Words2,
  parameter: number
): void {
  if (initialiser.kind === 'constant') {
    values.fill(initialiser.value, from, until)
    return
  }
  const drawing = new Drawing(key, parameter)
  const mean = initialiser.mean ?? 0
  for (let i = from; i < until; i += 4) {
    const four = drawing.four(i / 4, initialiser)
    for (let lane = 0; lane < 4 && i + lane < until; lane++) values[i + lane] = mean + four[lane]!
  }
}

/** Draws four numbers at a time into memory of its own: arrays made for each left some seventy times a model's size as garbage. */
class Drawing {
  readonly #key: Words2
  readonly #parameter: number
  readonly #words = new Uint32Array(4)
  readonly #numbers = new Float64Array(4)
  readonly #found = new Float64Array(4)

  constructor(key: Words2, parameter: number) {
    this.#key = key
    this.#parameter = parameter
  }

  /** Four numbers around 0. They stay until the next four are drawn. */
  four(place: number, initialiser: Exclude<Initialiser, { kind: 'constant' }>): Float64Array {
    if (initialiser.kind === 'uniform') return this.#uniform(place, initialiser.bound)
    if (initialiser.kind === 'normal') return this.#normal(place, 0, initialiser.std)
    return this.#truncated(place, initialiser.std, initialiser.bound)
  }

  #draw(place: number, attempt: number): void {
    philoxInto(this.#words, this.#key, place, attempt, INITIALISE, this.#parameter)
  }

  #uniform(place: number, bound: number): Float64Array {
    this.#draw(place, 0)
    for (let lane = 0; lane < 4; lane++) this.#numbers[lane] = ((this.#words[lane]! >>> 8) * 2 ** -23 - 1) * bound
    return this.#numbers
  }

  /** Box and Muller's pairs; the radius's uniform number is never 0, so its logarithm is finite. */
  #normal(place: number, attempt: number, std: number): Float64Array {
    this.#draw(place, attempt)
    for (let lane = 0; lane < 4; lane += 2) {
      const radius = std * Math.sqrt(-2 * Math.log((this.#words[lane]! + 1) * 2 ** -32))
      const angle = 2 * Math.PI * (this.#words[lane + 1]! * 2 ** -32)
      this.#numbers[lane] = radius * Math.cos(angle)
      this.#numbers[lane + 1] = radius * Math.sin(angle)
    }
    return this.#numbers
  }

  /** Each number is taken from the first attempt that gives one within the bound. */
  #truncated(place: number, std: number, bound: number): Float64Array {
    this.#found.fill(NaN)
    for (let attempt = 0; this.#found.some(Number.isNaN); attempt++) {
      const four = this.#normal(place, attempt, 1)
      for (let lane = 0; lane < 4; lane++)
        if (Number.isNaN(this.#found[lane]!) && Math.abs(four[lane]!) <= bound) this.#found[lane] = std * four[lane]!
    }
    return this.#found
  }
}
