import { ArbalestError, invalidOption } from '../errors.js'
import { atOnce, inTurns, type Pieces } from '../turns.js'
import { elements, parametersOf, type Graph, type Initialiser } from './graph.js'
import { keyOf, philox, type Words2, type Words4 } from './philox.js'

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
  for (let i = from; i < until; i += 4) {
    const draw = (attempt: number): Words4 => philox(key, [Math.floor(i / 4), attempt, INITIALISE, parameter])
    const four = drawn(draw, initialiser)
    for (let lane = 0; lane < 4 && i + lane < until; lane++) values[i + lane] = (initialiser.mean ?? 0) + four[lane]!
  }
}

/** Four numbers around 0. */
function drawn(draw: (attempt: number) => Words4, initialiser: Exclude<Initialiser, { kind: 'constant' }>): number[] {
  if (initialiser.kind === 'uniform') return uniform(draw(0), initialiser.bound)
  if (initialiser.kind === 'normal') return normal(draw(0), initialiser.std)
  return truncated(draw, initialiser.std, initialiser.bound)
}

function uniform(words: Words4, bound: number): number[] {
  return words.map((word) => ((word >>> 8) * 2 ** -23 - 1) * bound)
}

/** Each number is taken from the first attempt that gives one within the bound. */
function truncated(draw: (attempt: number) => Words4, std: number, bound: number): number[] {
  const found: (number | undefined)[] = [undefined, undefined, undefined, undefined]
  for (let attempt = 0; found.includes(undefined); attempt++) {
    const four = normal(draw(attempt), 1)
    for (const lane of found.keys()) if (Math.abs(four[lane]!) <= bound) found[lane] ??= std * four[lane]!
  }
  return found as number[]
}

/** Box and Muller's pairs; the radius's uniform number is never 0, so its logarithm is finite. */
function normal([a, b, c, d]: Words4, std: number): number[] {
  const pair = (first: number, second: number): [number, number] => {
    const radius = std * Math.sqrt(-2 * Math.log((first + 1) * 2 ** -32))
    const angle = 2 * Math.PI * (second * 2 ** -32)
    return [radius * Math.cos(angle), radius * Math.sin(angle)]
  }
  return [...pair(a, b), ...pair(c, d)]
}
