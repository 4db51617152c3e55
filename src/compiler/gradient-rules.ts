import { NONE, type Attributes, type Operator, type OperatorKind, type ValueId } from '../model/graph.js'

/** What a rule sees of the pass that calls it; `i` counts the operator's inputs. */
export interface Backpropagation {
  readonly operator: Operator
  /** The gradient of the operator's first output: the sum over all that read it. */
  gradient(): ValueId
  /** The same as two summands, the second NONE where one is enough, for operators that add them on their own. */
  gradientInTwo(): readonly [ValueId, ValueId]
  /** `gradient()`, masked where the operator ended in max(0, .). */
  maskedGradient(): ValueId
  wants(i: number): boolean
  /** A new summand of input i's gradient: for the next operator to write. */
  contribution(i: number): ValueId
  /** The same, or NONE where the input is absent or wants no gradient. */
  optionalContribution(i: number): ValueId
  /** A value that is there already is a summand of input i's gradient. */
  passOn(i: number, gradient: ValueId): void
  emit(kind: OperatorKind, inputs: readonly ValueId[], outputs: readonly ValueId[], attributes?: Attributes): void
}

type Rule = (pass: Backpropagation) => void

/** y = f(x), whose backward operator needs `inputs` besides gy. */
function unary(kind: OperatorKind, besides: (operator: Operator) => readonly ValueId[] = () => []): Rule {
  return (pass) => {
    const { attributes } = pass.operator
    const inputs = [...besides(pass.operator), pass.gradient()]
    pass.emit(kind, inputs, [pass.contribution(0)], attributes)
  }
}

/** y = x * w + b, convolution or product, with an optional max(0, .). Weights first: the input's memory is free after that. */
function affine(weights: OperatorKind, data: OperatorKind): Rule {
  return (pass) => {
    const [x, w] = pass.operator.inputs as [ValueId, ValueId]
    const attributes = { ...pass.operator.attributes, relu: 0 }
    const gradient = pass.maskedGradient()
    if (pass.wants(1)) pass.emit(weights, [x, gradient], [pass.contribution(1), pass.optionalContribution(2)], attributes)
    if (pass.wants(0)) pass.emit(data, [gradient, w], [pass.contribution(0)], attributes)
  }
}

const batchNorm: Rule = (pass) => {
  const { inputs, outputs, attributes } = pass.operator
  const [x, gamma, , residual] = inputs as [ValueId, ValueId, ValueId, ValueId]
  const [y, mean, variance] = outputs as [ValueId, ValueId, ValueId]
  const [first, second] = pass.gradientInTwo()
  const mask = attributes.relu ? y : NONE
  // Unmasked and alone, the gradient is the residual's as it is.
  const same = !attributes.relu && second === NONE
  if (residual !== NONE && pass.wants(3) && same) pass.passOn(3, first)
  const outgoing = [pass.contribution(0), pass.contribution(1), pass.contribution(2), same ? NONE : pass.optionalContribution(3)]
  pass.emit('batchNormBackward', [x, gamma, mean, variance, mask, first, second], outgoing, attributes)
}

const add: Rule = (pass) => {
  const gradient = pass.maskedGradient()
  for (const i of [0, 1]) if (pass.wants(i)) pass.passOn(i, gradient)
}

/** How each operator's gradient is computed; an operator that is not here has none. */
export const gradientRules: Partial<Record<OperatorKind, Rule>> = {
  conv2d: affine('conv2dBackwardWeights', 'conv2dBackwardData'),
  linear: affine('linearBackwardWeights', 'linearBackwardData'),
  batchNorm,
  relu: unary('reluBackward', ({ outputs }) => [outputs[0]!]),
  maxPool2d: unary('maxPool2dBackward', ({ outputs }) => [outputs[1]!]),
  avgPool2d: unary('avgPool2dBackward'),
  globalAvgPool: unary('globalAvgPoolBackward'),
  subsamplePad: unary('subsamplePadBackward'),
  add,
  reshape: unary('reshape'),
  dropout: unary('dropoutBackward')
}

/** Where gradients begin: each loss counts with weight 1. */
export const lossRules: Partial<Record<OperatorKind, Rule>> = {
  softmaxCrossEntropy: (pass) => {
    const { inputs, outputs } = pass.operator
    pass.emit('softmaxCrossEntropyBackward', [outputs[1]!, inputs[1]!], [pass.contribution(0)])
  },
  meanSquaredError: (pass) => {
    pass.emit('meanSquaredErrorBackward', pass.operator.inputs, [pass.contribution(0)])
  }
}
