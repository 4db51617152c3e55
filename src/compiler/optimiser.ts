import { invalidOption } from '../errors.js'
import type { Attributes } from '../model/graph.js'
import type { ParameterGroup } from './parameter-groups.js'

/** Stochastic gradient descent with momentum and weight decay, as in PyTorch. */
export interface SgdAttributes {
  readonly name?: 'sgd'
  readonly momentum?: number
  readonly weightDecay?: number
  readonly nesterov?: boolean
}

/**
 * Adam (Kingma and Ba, ICLR 2015), and AdamW, whose weight decay is apart from the gradient (Loshchilov and Hutter, ICLR 2019), as in PyTorch:
 * beta1 0.9, beta2 0.999, epsilon 1e-8 and weight decay 0.01 for AdamW where they are left out.
 */
export interface AdamAttributes {
  readonly name: 'adam' | 'adamw'
  readonly beta1?: number
  readonly beta2?: number
  readonly epsilon?: number
  readonly weightDecay?: number
}

/**
 * RMSprop (Tieleman and Hinton, "Neural networks for machine learning", lecture 6.5, 2012), as in PyTorch: `beta2` is its `alpha`. Steps of SGD along
 * gradients that are divided by the root of their mean square; beta2 0.99, epsilon 1e-8 and no momentum where they are left out.
 */
export interface RmspropAttributes {
  readonly name: 'rmsprop'
  readonly beta2?: number
  readonly epsilon?: number
  readonly momentum?: number
  readonly weightDecay?: number
}

/**
 * Momentum SGD with the gradient of each parameter of more than one dimension multiplied by trust |w| / (|g| + decay |w|); trust is 0.001 where
 * it is left out. You, Gitman and Ginsburg, "Large batch training of convolutional networks", 2017.
 */
export interface LarsAttributes {
  readonly name: 'lars'
  readonly trust?: number
  readonly momentum?: number
  readonly weightDecay?: number
  readonly nesterov?: boolean
}

/** What is done to a step's gradient before any optimiser takes it: the norm first, then each element. */
export interface GradientAttributes {
  /** The largest norm of the gradient of all parameters together. */
  readonly clipNorm?: number
  /** The largest absolute value of an element. */
  readonly clipValue?: number
  /** Batches whose mean gradient makes one step. */
  readonly accumulate?: number
}

/** The optimiser of `train`. */
export type OptimiserAttributes = StepAttributes & GradientAttributes & { readonly groups?: readonly ParameterGroup[] }

type StepAttributes = SgdAttributes | AdamAttributes | RmspropAttributes | LarsAttributes

/** What the operator `update` carries. Throws INVALID_OPTION. */
export function updateAttributes(optimiser: OptimiserAttributes): Attributes {
  const { clipNorm, clipValue, accumulate = 1, groups = [], weightDecay = optimiser.name === 'adamw' ? 0.01 : 0 } = optimiser
  check('weightDecay', weightDecay, 'of at least 0', weightDecay >= 0 && weightDecay < Infinity)
  for (const [name, limit] of Object.entries({ clipNorm, clipValue }))
    if (limit !== undefined) check(name, limit, 'above 0', limit > 0 && limit < Infinity)
  check(
    'accumulate',
    accumulate,
    'that is whole, from 1 to 1000000',
    Number.isSafeInteger(accumulate) && accumulate >= 1 && accumulate <= 1e6
  )
  return {
    ...ownAttributes(optimiser),
    weightDecay,
    ...(clipNorm !== undefined && { clipNorm }),
    ...(clipValue !== undefined && { clipValue }),
    ...(accumulate > 1 && { accumulate }),
    ...(groups.length > 0 && groupAttributes(groups, weightDecay))
  }
}

/** Of groups 1, 2...: which parameters they have, the layout of the parameters says. */
function groupAttributes(groups: readonly ParameterGroup[], usualDecay: number): Attributes {
  for (const [i, { weightDecay = 0, learningRate: { factor } = { factor: 1 } }] of groups.entries()) {
    check(`groups[${i}].weightDecay`, weightDecay, 'of at least 0', weightDecay >= 0 && weightDecay < Infinity)
    check(`groups[${i}].learningRate.factor`, factor, 'of at least 0', factor >= 0 && factor < Infinity)
  }
  return {
    groupDecays: groups.map(({ weightDecay = usualDecay }) => weightDecay),
    groupFactors: groups.map(({ learningRate }) => learningRate?.factor ?? 1)
  }
}

function ownAttributes(optimiser: StepAttributes): Attributes {
  if (isAdam(optimiser)) {
    const { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8 } = optimiser
    checkBelowOne({ beta1, beta2 })
    checkEpsilon(epsilon)
    return { beta1, beta2, epsilon, decoupled: optimiser.name === 'adamw' ? 1 : 0 }
  }
  const { momentum = 0 } = optimiser
  checkBelowOne({ momentum })
  if (optimiser.name === 'rmsprop') {
    const { beta2 = 0.99, epsilon = 1e-8 } = optimiser
    checkBelowOne({ beta2 })
    checkEpsilon(epsilon)
    return { beta2, epsilon, momentum }
  }
  const { nesterov = false } = optimiser
  if (nesterov && momentum === 0) throw invalidOption('optimiser.nesterov', nesterov, 'give it a momentum above 0')
  const attributes = { momentum, nesterov: nesterov ? 1 : 0 }
  if (optimiser.name !== 'lars') return attributes
  const { trust = 0.001 } = optimiser
  check('trust', trust, 'above 0', trust > 0 && trust < Infinity)
  return { ...attributes, trust }
}

/** Whether the optimiser keeps anything from step to step. */
export function hasStates(optimiser: OptimiserAttributes): boolean {
  return isAdam(optimiser) || optimiser.name === 'rmsprop' || (optimiser.momentum ?? 0) > 0
}

function isAdam(optimiser: StepAttributes): optimiser is AdamAttributes {
  return optimiser.name === 'adam' || optimiser.name === 'adamw'
}

function checkBelowOne(numbers: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(numbers)) check(name, value, 'from 0 to below 1', value >= 0 && value < 1)
}

function checkEpsilon(epsilon: number): void {
  check('epsilon', epsilon, 'above 0', epsilon > 0 && epsilon < Infinity)
}

function check(name: string, value: number, range: string, holds: boolean): void {
  if (!holds) throw invalidOption(`optimiser.${name}`, value, `use a number ${range}`)
}
