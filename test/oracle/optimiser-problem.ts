import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { OptimiserAttributes } from '../../src/compiler/optimiser.js'
import type { Program } from '../../src/compiler/program.js'
import { keyOf, philox } from '../../src/model/philox.js'

/** Steps of optimisers on gradients that are given: what PyTorch makes of them, and what ours does. */
export interface OptimiserCase {
  readonly ours: OptimiserAttributes
  /** PyTorch's class, its arguments but for the rate, and what is done to the gradients before. */
  readonly kind: 'sgd' | 'adam' | 'adamw' | 'rmsprop'
  readonly options: Readonly<Record<string, unknown>>
  readonly clipNorm?: number
  readonly clipValue?: number
  /** PyTorch's parameter groups, with the places of their parameters in the model; those that are left out have the arguments above. */
  readonly groups?: readonly (Readonly<Record<string, unknown>> & { readonly places: readonly number[] })[]
}

export const RATE = 0.01
export const STEPS = 10

const MOMENTUM = { momentum: 0.9, weight_decay: 1e-2 }
const ADAM = { weight_decay: 1e-2, betas: [0.8, 0.95], eps: 1e-6 }
const OURS = { weightDecay: 1e-2, beta1: 0.8, beta2: 0.95, epsilon: 1e-6 }

/** The model's parameters are a weight and a bias, twice. */
const GROUPS: OptimiserAttributes['groups'] = [
  { parameters: 'vectors', weightDecay: 0 },
  { parameters: ['linear2'], learningRate: { factor: 5 } }
]
const THEIR_GROUPS = [
  { places: [1, 3], weight_decay: 0 },
  { places: [2], lr: 5 * RATE }
]

export const OPTIMISER_CASES: Readonly<Record<string, OptimiserCase>> = {
  'plain SGD': { ours: { weightDecay: 1e-2 }, kind: 'sgd', options: { weight_decay: 1e-2 } },
  'Polyak momentum': { ours: { momentum: 0.9, weightDecay: 1e-2 }, kind: 'sgd', options: MOMENTUM },
  'Nesterov momentum': {
    ours: { momentum: 0.9, weightDecay: 1e-2, nesterov: true },
    kind: 'sgd',
    options: { ...MOMENTUM, nesterov: true }
  },
  Adam: { ours: { name: 'adam', ...OURS }, kind: 'adam', options: ADAM },
  'Adam as it is': { ours: { name: 'adam' }, kind: 'adam', options: {} },
  AdamW: { ours: { name: 'adamw', ...OURS }, kind: 'adamw', options: ADAM },
  RMSprop: {
    ours: { name: 'rmsprop', beta2: 0.95, epsilon: 1e-6, momentum: 0.9, weightDecay: 1e-2 },
    kind: 'rmsprop',
    options: { alpha: 0.95, eps: 1e-6, ...MOMENTUM }
  },
  'RMSprop as it is': { ours: { name: 'rmsprop' }, kind: 'rmsprop', options: {} },
  'Nesterov momentum in groups, clipped by norm': {
    ours: { momentum: 0.9, weightDecay: 1e-2, nesterov: true, clipNorm: 2, groups: GROUPS },
    kind: 'sgd',
    options: { ...MOMENTUM, nesterov: true },
    clipNorm: 2,
    groups: THEIR_GROUPS
  },
  'AdamW in groups': { ours: { name: 'adamw', ...OURS, groups: GROUPS }, kind: 'adamw', options: ADAM, groups: THEIR_GROUPS },
  'momentum, clipped by norm': { ours: { momentum: 0.9, clipNorm: 2 }, kind: 'sgd', options: { momentum: 0.9 }, clipNorm: 2 },
  'momentum, clipped by value': { ours: { momentum: 0.9, clipValue: 0.2 }, kind: 'sgd', options: { momentum: 0.9 }, clipValue: 0.2 },
  'AdamW, clipped by both': {
    ours: { name: 'adamw', clipNorm: 3, clipValue: 0.1 },
    kind: 'adamw',
    options: {},
    clipNorm: 3,
    clipValue: 0.1
  }
}

/** Numbers from -1 to 1 with 16 bits each. */
export function noise(count: number, stream: number): number[] {
  return Array.from({ length: count }, (_, i) => (philox(keyOf(11), [i, 0, stream, 0])[0] >>> 16) / 32768 - 1)
}

export interface OptimiserFixture {
  readonly torch: string
  readonly trained: Readonly<Record<string, readonly number[]>>
}

/** What PyTorch makes of the cases, over a program's parameters. */
export function askPyTorch(python: string, { parameters }: Program): OptimiserFixture {
  const sizes = parameters.parameters.map(({ shape }) => shape.reduce((product, extent) => product * extent, 1))
  const parts = (all: readonly number[]) => {
    let at = 0
    return sizes.map((size) => all.slice(at, (at += size)))
  }
  const count = sizes.reduce((sum, size) => sum + size, 0)
  const cases = Object.fromEntries(
    Object.entries(OPTIMISER_CASES).map(([name, { ours: _, options, ...each }]) => [name, { ...each, options: { lr: RATE, ...options } }])
  )
  const gradients = Array.from({ length: STEPS }, (_, step) => parts(noise(count, step + 1)))
  const script = fileURLToPath(new URL('../../../test/oracle/optimisers.py', import.meta.url))
  const input = JSON.stringify({ weights: parts(noise(count, 0)), gradients, cases })
  return JSON.parse(execFileSync(python, [script], { input, encoding: 'utf8', maxBuffer: 2 ** 26 })) as OptimiserFixture
}

const FIXTURE = new URL('../../../test/oracle/fixtures/optimisers.json', import.meta.url)

export function readOptimiserFixture(): OptimiserFixture {
  return JSON.parse(readFileSync(FIXTURE, 'utf8')) as OptimiserFixture
}

export function writeOptimiserFixture(fixture: OptimiserFixture): void {
  const rounded = (_: string, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(12)) : value)
  writeFileSync(FIXTURE, `${JSON.stringify(fixture, rounded, 2)}\n`)
}
