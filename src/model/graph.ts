/**
 * The Graph: a model's operators with every shape known. Plain data, in an order in which they can run.
 *
 * Batch comes first in every activation: images are (N, C, H, W), features (N, F), sequences of features (N, T, F) and of tokens (N, T).
 * Weights are in PyTorch's order: convolution (O, I/groups, KH, KW), linear (O, F), embedding (tokens, F).
 */

/** What a value is to the computation; placement and layout follow from it. */
export type Role =
  /** The samples of a batch, written by `load` or by the caller. */
  | 'input'
  /** What the samples should give: class numbers (N) or (N, T), or a tensor. */
  | 'target'
  /** Trained, and a slice of the flat parameter vector. */
  | 'parameter'
  /** The gradient of a parameter, named `<parameter>.gradient`; lies where its parameter lies, in a vector of its own. */
  | 'parameterGradient'
  /** Kept from step to step and not trained: batch-norm statistics. */
  | 'statistic'
  /** Everything else: it lives from its writer to its last reader. */
  | 'activation'

/** A value of a Graph by its place among them. */
export type ValueId = number

/** An operator's missing optional input or unwanted output. */
export const NONE: ValueId = -1

export interface Value {
  readonly id: ValueId
  /** Unique within its graph: `conv1.weight`, `block2.0.relu`. */
  readonly name: string
  readonly shape: readonly number[]
  readonly role: Role
  /**
   * Class numbers and positions are integers; `statistic` is what must stay exact in low precision (batch-norm statistics, losses);
   * all else is the precision of the program.
   */
  readonly type: 'float' | 'integer' | 'position' | 'statistic'
  /** Of a parameter: it gets no gradient and is never updated. */
  readonly frozen?: true
  /** How a parameter gets its first values, before the seed. */
  readonly initialiser?: Initialiser
}

/** Where a parameter's first values come from. Fan-in is the number of inputs of one output. */
export type Initialiser =
  | { readonly kind: 'constant'; readonly value: number }
  /** Uniform in [mean - bound, mean + bound]; the mean is 0 if left out, here and below. */
  | { readonly kind: 'uniform'; readonly bound: number; readonly mean?: number }
  | { readonly kind: 'normal'; readonly std: number; readonly mean?: number }
  /** Normal, drawn again where it is more than `bound` deviations from the mean. */
  | { readonly kind: 'truncatedNormal'; readonly std: number; readonly mean?: number; readonly bound: number }

/**
 * Every operator that an engine runs. Inputs and outputs by position, `?` marks one that may be NONE.
 *
 * | kind | inputs | outputs | attributes |
 * | --- | --- | --- | --- |
 * | load | | x, target | padding, flip, mean[], std[], shuffled |
 * | conv2d | x, w, b? | y | stride[2], padding[2], groups, relu |
 * | conv2dBackwardData | gy, w | gx | as conv2d |
 * | conv2dBackwardWeights | x, gy | gw, gb? | as conv2d |
 * | linear | x (...,F), w (O,F), b? | y (...,O) | relu |
 * | linearBackwardData | gy, w | gx | |
 * | linearBackwardWeights | x, gy | gw, gb? | |
 * | matmul | a (...,M,K), b (...,K,O) | y (...,M,O) | transposeA: a is (...,K,M), transposeB: b is (...,O,K) |
 * | layerNorm | x (...,F), gamma (F), beta (F) | y, mean (...)?, inverse (...)?: of each row, and 1 / its std | epsilon |
 * | layerNormBackward | x, gamma, mean, inverse, gy | gx?, ggamma, gbeta | |
 * | embedding | tokens (N,T), table (V,F) | y (N,T,F): the table's rows | |
 * | embeddingBackward | tokens, gy | gtable | |
 * | positions | x (N,...), table (...) | y = x + table, for every sample | |
 * | positionsBackward | gy | gtable: the sum over the samples | |
 * | causalSelfAttention | qkv (N,T,3F): queries, keys, values, each head by head | y (N,T,F), logSum (N,heads,T)? | heads |
 * | causalSelfAttentionBackward | qkv, y, logSum, gy | gqkv | heads |
 * | batchNorm | x, gamma, beta, residual? | y, mean, variance | epsilon, relu |
 * | batchNormInference | x, gamma, beta, mean, variance, residual? | y | epsilon, relu |
 * | batchNormBackward | x, gamma, mean, variance, y?, gy, gy2? | gx, ggamma, gbeta, gresidual? | epsilon, relu |
 * | foldStatistics | mean, variance, count, foldedMean, foldedVariance | count, foldedMean, foldedVariance | |
 * | relu | x | y | |
 * | reluBackward | y, gy | gx | |
 * | sigmoid, tanh | x | y | |
 * | sigmoidBackward, tanhBackward | y, gy | gx | |
 * | leakyRelu | x | y = max(x, 0) + slope * min(x, 0) | slope |
 * | leakyReluBackward | y, gy | gx | slope |
 * | gelu | x | y = x * share of the standard normal distribution below x | approximate: by tanh |
 * | geluBackward | x, gy | gx | approximate |
 * | silu | x | y = x * sigmoid(x) | |
 * | siluBackward | x, gy | gx | |
 * | localResponseNorm | x (N,C,H,W) | y = x / (k + alpha / size * sum of x^2 over channels c - size/2 to c + (size-1)/2)^beta | size, alpha, beta, k |
 * | localResponseNormBackward | x, gy | gx | as localResponseNorm |
 * | maxPool2d | x | y, position? | kernel[2], stride[2], padding[2] |
 * | maxPool2dBackward | position, gy | gx | as maxPool2d |
 * | avgPool2d | x | y | kernel[2], stride[2], padding[2] (padding counts as zeros) |
 * | avgPool2dBackward | gy | gx | as avgPool2d |
 * | globalAvgPool | x (N,C,H,W) | y (N,C) | |
 * | globalAvgPoolBackward | gy | gx | |
 * | subsamplePad | x | y (N,C+before+after,ceil(H/stride),ceil(W/stride)) | stride, before, after |
 * | subsamplePadBackward | gy | gx | as subsamplePad |
 * | add | a, b | y | relu |
 * | multiply | a, b (same shape) | y | |
 * | concat | x, x, ... | y: their channels (axis 1) side by side | channels[]: of each |
 * | concatBackward | gy | gx?, gx?, ... | as concat |
 * | reshape | x | y: the same elements in canonical order, another shape | |
 * | dropout, dropoutBackward | x | y = x * mask / (1 - rate); the mask is recomputed from its counter | rate, stream |
 * | softmaxCrossEntropy | logits (...,K), target (...) | loss (1): mean over all rows, probabilities (...,K)?, correct (1): count?, amongTop (1): count? | smoothing?, top? |
 * | softmaxCrossEntropyBackward | probabilities, target | glogits | smoothing? |
 * | binaryCrossEntropy | logits, target (same shape) | loss (1): mean over all elements, correct (1): count? | |
 * | binaryCrossEntropyBackward | logits, target | glogits | |
 * | meanSquaredError | prediction, target (same shape) | loss (1): mean over all elements | |
 * | meanSquaredErrorBackward | prediction, target | gprediction | |
 * | reorder | x, ... | y, ...: the same tensors in another layout or element type; several where the backend reorders them together | |
 * | exchange | | | the learners' group meets here |
 * | update | | | the optimiser over the whole parameter vector: momentum, nesterov, weightDecay; Adam has beta1, beta2, epsilon, decoupled in their place, LARS trust as well; all clipNorm?, clipValue?, accumulate? |
 *
 * `relu` as an attribute means that the operator ends in max(0, .); a backward operator then masks gy by y > 0 first.
 * Label smoothing gives 1 - smoothing to the right class and smoothing / K to every class. `amongTop` counts the samples whose class is among
 * the `top` largest logits; a sample of `binaryCrossEntropy` counts as correct where every logit is above 0 just where its target is above 1/2.
 * `foldStatistics` writes its last three inputs in place: inputs and outputs are the same values.
 * With n batches folded before: mean' = mean + (m - mean) / (n + 1), variance' = (n variance + v + (m - mean)^2 n / (n + 1)) / (n + 1): the
 * moments of all their samples, the variance biased.
 * `causalSelfAttention`: softmax(q k' / sqrt(F / heads)) v of each head, where position t sees positions 0 to t; `logSum` is the logarithm of
 * the softmax's sum, from which the backward operator has the probabilities again: nothing of size T * T is kept.
 * `batchNormBackward` adds gy2 to gy before all else; `gresidual` is the masked sum.
 */
export type OperatorKind =
  | 'load'
  | 'conv2d'
  | 'conv2dBackwardData'
  | 'conv2dBackwardWeights'
  | 'linear'
  | 'linearBackwardData'
  | 'linearBackwardWeights'
  | 'matmul'
  | 'layerNorm'
  | 'layerNormBackward'
  | 'embedding'
  | 'embeddingBackward'
  | 'positions'
  | 'positionsBackward'
  | 'causalSelfAttention'
  | 'causalSelfAttentionBackward'
  | 'batchNorm'
  | 'batchNormInference'
  | 'batchNormBackward'
  | 'foldStatistics'
  | 'relu'
  | 'reluBackward'
  | 'sigmoid'
  | 'sigmoidBackward'
  | 'tanh'
  | 'tanhBackward'
  | 'leakyRelu'
  | 'leakyReluBackward'
  | 'gelu'
  | 'geluBackward'
  | 'silu'
  | 'siluBackward'
  | 'localResponseNorm'
  | 'localResponseNormBackward'
  | 'maxPool2d'
  | 'maxPool2dBackward'
  | 'avgPool2d'
  | 'avgPool2dBackward'
  | 'globalAvgPool'
  | 'globalAvgPoolBackward'
  | 'subsamplePad'
  | 'subsamplePadBackward'
  | 'add'
  | 'multiply'
  | 'concat'
  | 'concatBackward'
  | 'reshape'
  | 'dropout'
  | 'dropoutBackward'
  | 'softmaxCrossEntropy'
  | 'softmaxCrossEntropyBackward'
  | 'binaryCrossEntropy'
  | 'binaryCrossEntropyBackward'
  | 'meanSquaredError'
  | 'meanSquaredErrorBackward'
  | 'reorder'
  | 'exchange'
  | 'update'

/** What an operator is told beside its inputs. */
export type Attributes = Readonly<Record<string, number | readonly number[]>>

export interface Operator {
  readonly kind: OperatorKind
  /** The layer that it came from: `block2.0.conv1`. */
  readonly name: string
  readonly inputs: readonly ValueId[]
  readonly outputs: readonly ValueId[]
  readonly attributes: Attributes
}

export interface Graph {
  readonly name: string
  readonly batch: number
  /** Indexed by id. */
  readonly values: readonly Value[]
  readonly operators: readonly Operator[]
  /** Values that stay readable by these names: `input`, `target`, `output`, `loss`, `correct`, and every statistic by its own. */
  readonly named: Readonly<Record<string, ValueId>>
  /** Composed layers whose gradient is not that of their operators. */
  readonly composed?: readonly ComposedGradient[]
}

/** A composed layer whose module brings the gradient between the named values `<layer>.input` and `<layer>.output`. */
export interface ComposedGradient {
  readonly layer: string
  /** Address of the module, which the thread that differentiates has loaded. */
  readonly module: string
  readonly options: unknown
}

/** The number of elements of a tensor. */
export function elements(shape: readonly number[]): number {
  return shape.reduce((product, extent) => product * extent, 1)
}

/** The parameters in the model's order: the order of the canonical vector. */
export function parametersOf(graph: Graph): readonly Value[] {
  return graph.values.filter((value) => value.role === 'parameter')
}
