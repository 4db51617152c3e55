import { ArbalestError, invalidOption, shown } from '../../errors.js'
import { NONE, type NoAttributes, type Value, type ValueId } from '../graph.js'
import type { GraphWriter } from '../graph-writer.js'
import { shownShape } from '../layer-checks.js'
import { defineOperators, perElement } from './table.js'

/** Losses: each ends a graph with the mean loss of the batch and, where outputs can be right or wrong, the count of right ones. */

declare module '../graph.js' {
  interface Operators {
    /**
     * logits (...,K), target (...) -> loss (1): mean over the rows, differences (...,K)?, correct (1): count?, amongTop (1): count?
     *
     * Of logits (N,T,K) a row whose target is -1 counts for nothing. The mean is over the others, or with `ofAll` their sum is divided by the number of all rows.
     *
     * The differences are the probabilities, less 1 at the target. `smoothing` gives 1 - smoothing to the right class and smoothing / K to every class. `amongTop` counts the samples whose class is among the `top`
     * largest logits. With `weights` (K) each class's term counts so much, and the mean is over the weights of the targets: PyTorch's `CrossEntropyLoss(weight)`.
     */
    softmaxCrossEntropy: {
      readonly smoothing?: number
      readonly weights?: readonly number[]
      readonly top?: number
      readonly ofAll?: number
    }
    /** differences, target -> glogits */
    softmaxCrossEntropyBackward: { readonly smoothing?: number; readonly weights?: readonly number[] }
    /**
     * logits (N,K), target (N,K): shares of the classes -> loss (1): mean over the rows, gradient (N,K)?: of the logits, correct (1): count?
     *
     * Smoothed and weighted as `softmaxCrossEntropy`, but for the mean, which is over the rows in any case: PyTorch's `CrossEntropyLoss` of class probabilities. A row counts as correct where its largest logit
     * and its largest share are of the same class.
     */
    softTargetCrossEntropy: { readonly smoothing?: number; readonly weights?: readonly number[] }
    /**
     * logits, target (same shape) -> loss (1): mean over all elements, correct (1): count?
     *
     * A sample counts as correct where every logit is above 0 just where its target is above 1/2. With `weights`, one for each label, what holds counts so much: PyTorch's `BCEWithLogitsLoss(pos_weight)`.
     * The labels of (N,K) and (N,T,K) are K, those of images (N,K,H,W) too.
     */
    binaryCrossEntropy: { readonly weights?: readonly number[] }
    /** logits, target -> glogits */
    binaryCrossEntropyBackward: { readonly weights?: readonly number[] }
    /** prediction, target (same shape) -> loss (1): mean over all elements */
    meanSquaredError: NoAttributes
    /** prediction, target -> gprediction */
    meanSquaredErrorBackward: NoAttributes
  }
}

/** `binaryCrossEntropy` takes logits and targets from 0 to 1 of the same shape. Each is a mean: over samples, over all elements for the others. */
export type LossName = 'softmaxCrossEntropy' | 'binaryCrossEntropy' | 'meanSquaredError'

/** The part of a Model that its loss concerns. */
export interface LossOf {
  readonly name: string
  readonly loss: LossName
  readonly labelSmoothing?: number
  readonly classWeights?: readonly number[]
  readonly positiveWeights?: number | readonly number[]
}

interface LossRow {
  /** Shape and type of the target of an output; a soft one gives every class a share. */
  target(output: Value, isSoft: boolean): Pick<Value, 'shape' | 'type'>
  /** Adds the operator; returns its named outputs. */
  add(graph: GraphWriter, output: ValueId, target: ValueId, options: LossOptions): Readonly<Record<string, ValueId>>
}

interface LossOptions {
  /** Gradients are wanted. Measured loss is neither smoothed nor weighted: both are for learning. */
  readonly training: boolean
  readonly labelSmoothing: number
  readonly classWeights: readonly number[] | undefined
  readonly positiveWeights: number | readonly number[] | undefined
  readonly topK: number | undefined
}

const LOSSES: Readonly<Record<LossName, LossRow>> = {
  softmaxCrossEntropy: {
    target({ shape, name }, isSoft) {
      if (isSoft && shape.length === 3)
        throw new ArbalestError(
          'INVALID_OPTION',
          `layer ${name}: gives classes of positions, which have no soft targets; give class numbers, and leave mixup and cutmix out of the augmentation`,
          {
            data: { layer: name, received: shape.slice(1) }
          }
        )
      if (shape.length <= 3) return isSoft ? { shape, type: 'float' } : { shape: shape.slice(0, -1), type: 'integer' }
      throw new ArbalestError(
        'SHAPE_MISMATCH',
        `layer ${name}: gives ${shownShape(shape.slice(1))} to the softmax; end in one number a class: put flatten and linear last, or imagePositions for a class of each pixel`,
        { data: { layer: name, received: shape.slice(1) } }
      )
    },
    add(graph, output, target, { training, labelSmoothing, classWeights, topK }) {
      const loss = graph.value('loss', [1], { type: 'statistic' })
      const correct = graph.value('correct', [1], { type: 'integer' })
      const { shape } = graph.get(output)
      checkForClasses(shape.at(-1)!, classWeights, topK)
      const learning = {
        ...(training && labelSmoothing > 0 && { smoothing: labelSmoothing }),
        ...(training && classWeights && { weights: classWeights })
      }
      if (graph.get(target).type === 'float') {
        if (topK !== undefined && !training)
          throw invalidOption('topK', topK, 'leave it out: the targets are soft, and no class is the right one')
        const gradient = training ? graph.value('loss.gradient', shape) : NONE
        graph.operator('softTargetCrossEntropy', 'loss', [output, target], [loss, gradient, correct], learning)
        return { loss, correct }
      }
      const differences = training ? graph.value('differences', shape) : NONE
      const counted = topK === undefined ? {} : { amongTop: graph.value('amongTop', [1], { type: 'integer' }) }
      const attributes = {
        ...learning,
        ...(topK !== undefined && { top: topK }),
        // In two batches different numbers of rows may count. The measurement adds the sums of all batches, and divides once.
        ...(!training && shape.length > 2 && { ofAll: 1 })
      }
      const outputs = [loss, differences, correct, ...Object.values(counted)]
      graph.operator('softmaxCrossEntropy', 'loss', [output, target], outputs, attributes)
      return { loss, correct, ...counted }
    }
  },
  binaryCrossEntropy: {
    target: ({ shape }) => ({ shape, type: 'float' }),
    add(graph, output, target, { training, positiveWeights }) {
      const loss = graph.value('loss', [1], { type: 'statistic' })
      const correct = graph.value('correct', [1], { type: 'integer' })
      const weights = positiveWeights === undefined ? undefined : weightsOfLabels(graph.get(output), positiveWeights)
      graph.operator('binaryCrossEntropy', 'loss', [output, target], [loss, correct], { ...(training && weights && { weights }) })
      return { loss, correct }
    }
  },
  meanSquaredError: {
    target: ({ shape }) => ({ shape, type: 'float' }),
    add(graph, output, target) {
      const loss = graph.value('loss', [1], { type: 'statistic' })
      graph.operator('meanSquaredError', 'loss', [output, target], [loss])
      return { loss }
    }
  }
}

/** One for each label. Throws SHAPE_MISMATCH for another number of them. */
function weightsOfLabels({ shape }: Value, given: number | readonly number[]): readonly number[] {
  const labels = labelsOf(shape.slice(1))
  if (typeof given === 'number') return Array.from({ length: labels }, () => given)
  if (given.length === labels) return given
  throw new ArbalestError(
    'SHAPE_MISMATCH',
    `positiveWeights: received ${given.length} numbers; give one for each of the ${labels} labels, or a number for all`,
    {
      data: { parameter: 'positiveWeights', received: given }
    }
  )
}

/** How many labels each place of an output or a target has: the last axis, or of images (K, H, W) the first. */
export function labelsOf(shape: readonly number[]): number {
  return (shape.length === 3 ? shape[0] : shape.at(-1)) ?? 1
}

/** Throws INVALID_OPTION for a `topK` and SHAPE_MISMATCH for class weights that do not go with the number of classes. */
function checkForClasses(classes: number, classWeights: readonly number[] | undefined, topK: number | undefined): void {
  if (topK !== undefined && topK >= classes)
    throw invalidOption('topK', topK, `use less than the ${classes} classes: the right one is always among all`)
  if (classWeights !== undefined && classWeights.length !== classes)
    throw new ArbalestError(
      'SHAPE_MISMATCH',
      `classWeights: received ${classWeights.length} numbers; give one for each of the ${classes} classes`,
      { data: { parameter: 'classWeights', received: classWeights } }
    )
}

/** The loss with which each of these goes: of a model, and of its measurement. */
export const LOSS_OF = {
  labelSmoothing: 'softmaxCrossEntropy',
  classWeights: 'softmaxCrossEntropy',
  positiveWeights: 'binaryCrossEntropy',
  topK: 'softmaxCrossEntropy'
} as const satisfies Readonly<Record<string, LossName>>

const WEIGHTS_FIX = 'a list of numbers of at least 0, not all of them 0'

/** Throws INVALID_MODEL for label smoothing and weights and INVALID_OPTION for a `topK` that the loss cannot have. */
export function checkClassification(
  { name, loss, labelSmoothing = 0, classWeights, positiveWeights }: LossOf,
  topK: number | undefined
): void {
  if (typeof labelSmoothing !== 'number' || !(labelSmoothing >= 0 && labelSmoothing < 1))
    throw invalidModel(name, 'labelSmoothing', shown(labelSmoothing), 'use a number from 0 to less than 1')
  if (classWeights !== undefined && !areWeights(classWeights))
    throw invalidModel(name, 'classWeights', shown(classWeights), `use ${WEIGHTS_FIX}`)
  if (positiveWeights !== undefined && !areWeights(typeof positiveWeights === 'number' ? [positiveWeights] : positiveWeights))
    throw invalidModel(name, 'positiveWeights', shown(positiveWeights), `use a number above 0, or ${WEIGHTS_FIX}`)
  const given = { labelSmoothing: labelSmoothing === 0 ? undefined : labelSmoothing, classWeights, positiveWeights }
  for (const [property, value] of Object.entries(given) as [keyof typeof given, unknown][])
    if (value !== undefined && loss !== LOSS_OF[property])
      throw invalidModel(name, property, `${shown(value)} under ${loss}`, `leave it out, or use ${LOSS_OF[property]}`)
  if (topK === undefined) return
  if (!Number.isSafeInteger(topK) || topK < 1 || topK > 2 ** 30) throw invalidOption('topK', topK, 'use a whole number of at least 1')
  if (loss !== LOSS_OF.topK) throw invalidOption('topK', topK, `leave it out: model ${name} has no classes under ${loss}`)
}

function areWeights(given: readonly unknown[]): boolean {
  return (
    Array.isArray(given) &&
    given.every((weight) => Number.isFinite(weight) && (weight as number) >= 0) &&
    given.some((weight) => weight !== 0)
  )
}

/** Adds the value that the output is compared with; a soft one of a classifier has a share of each class instead of a class number. Throws INVALID_MODEL for an unknown loss, SHAPE_MISMATCH for an output that it does not take. */
export function addTarget(graph: GraphWriter, { name, loss }: LossOf, output: ValueId, isSoft: boolean): ValueId {
  if (!Object.hasOwn(LOSSES, loss)) throw invalidModel(name, 'loss', shown(loss), `use one of ${Object.keys(LOSSES).join(', ')}`)
  const { shape, type } = LOSSES[loss].target(graph.get(output), isSoft)
  return graph.value('target', shape, { role: 'target', type })
}

/** Adds the loss; returns its values by name: `loss`, and `correct` and `amongTop` where they are counted. */
export function addLoss(
  graph: GraphWriter,
  { loss, labelSmoothing = 0, classWeights, positiveWeights }: LossOf,
  values: { readonly output: ValueId; readonly target: ValueId },
  options: Pick<LossOptions, 'training' | 'topK'>
): Readonly<Record<string, ValueId>> {
  return LOSSES[loss].add(graph, values.output, values.target, { ...options, labelSmoothing, classWeights, positiveWeights })
}

function invalidModel(model: string, parameter: string, received: string, fix: string): ArbalestError {
  return new ArbalestError('INVALID_MODEL', `model ${model}: ${parameter}: received ${received}; ${fix}`)
}

defineOperators({
  softmaxCrossEntropy: {
    lossGradient({ inputs: [, target], outputs: [, differences], attributes: { smoothing = 0, weights }, emit, contribution }) {
      emit('softmaxCrossEntropyBackward', [differences!, target!], [contribution(0)], { smoothing, ...(weights && { weights }) })
    },
    flops: perElement(5)
  },
  softmaxCrossEntropyBackward: { flops: perElement(2) },
  softTargetCrossEntropy: { lossGradient: ({ outputs: [, gradient], passOn }) => passOn(0, gradient!), flops: perElement(8) },
  binaryCrossEntropy: {
    lossGradient: ({ inputs, attributes, emit, contribution }) => emit('binaryCrossEntropyBackward', inputs, [contribution(0)], attributes),
    flops: perElement(6)
  },
  binaryCrossEntropyBackward: { flops: perElement(4) },
  meanSquaredError: {
    lossGradient: ({ inputs, emit, contribution }) => emit('meanSquaredErrorBackward', inputs, [contribution(0)]),
    flops: perElement(3)
  },
  meanSquaredErrorBackward: { flops: perElement(2) }
})
