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
  /** A new summand of input i's gradient: for the next operator to write. Nobody reads it where the input wants none. */
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
    if (pass.wants(1) || pass.wants(2)) pass.emit(weights, [x, gradient], [pass.contribution(1), pass.optionalContribution(2)], attributes)
    if (pass.wants(0)) pass.emit(data, [gradient, w], [pass.contribution(0)], attributes)
  }
}

/** Each of the two gradients is a product of the other factor and gy, with whatever transposes fit. */
const matmul: Rule = (pass) => {
  const [a, b] = pass.operator.inputs as [ValueId, ValueId]
  const transposed = { a: pass.operator.attributes.transposeA === 1, b: pass.operator.attributes.transposeB === 1 }
  const gy = pass.gradient()
  const product = (i: number, left: ValueId, right: ValueId, transposeA: boolean, transposeB: boolean): void => {
    if (!pass.wants(i)) return
    pass.emit('matmul', [left, right], [pass.contribution(i)], { transposeA: transposeA ? 1 : 0, transposeB: transposeB ? 1 : 0 })
  }
  if (transposed.a) product(0, b, gy, transposed.b, true)
  else product(0, gy, b, false, !transposed.b)
  if (transposed.b) product(1, gy, a, true, transposed.a)
  else product(1, a, gy, !transposed.a, false)
}

const layerNorm: Rule = (pass) => {
  const { inputs, outputs } = pass.operator
  const incoming = [inputs[0]!, inputs[1]!, outputs[1]!, outputs[2]!, pass.gradient()]
  pass.emit('layerNormBackward', incoming, [pass.optionalContribution(0), pass.contribution(1), pass.contribution(2)])
}

const embedding: Rule = (pass) => {
  pass.emit('embeddingBackward', [pass.operator.inputs[0]!, pass.gradient()], [pass.contribution(1)])
}

const positions: Rule = (pass) => {
  const gradient = pass.gradient()
  if (pass.wants(0)) pass.passOn(0, gradient)
  pass.emit('positionsBackward', [gradient], [pass.contribution(1)])
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

/** Each factor's gradient is the other one's product with the result's. */
const multiply: Rule = (pass) => {
  const gradient = pass.gradient()
  for (const [i, other] of pass.operator.inputs.toReversed().entries())
    if (pass.wants(i)) pass.emit('multiply', [gradient, other], [pass.contribution(i)])
}

const concat: Rule = (pass) => {
  const { inputs, attributes } = pass.operator
  const gradient = pass.gradient()
  const outgoing = inputs.map((_, i) => pass.optionalContribution(i))
  pass.emit('concatBackward', [gradient], outgoing, attributes)
}

const ofInput = ({ inputs }: Operator): ValueId[] => [inputs[0]!]
const ofOutput = ({ outputs }: Operator): ValueId[] => [outputs[0]!]

/** How each operator's gradient is computed; an operator that is not here has none. */
export const gradientRules: Partial<Record<OperatorKind, Rule>> = {
  conv2d: affine('conv2dBackwardWeights', 'conv2dBackwardData'),
  linear: affine('linearBackwardWeights', 'linearBackwardData'),
  matmul,
  layerNorm,
  embedding,
  positions,
  causalSelfAttention: unary('causalSelfAttentionBackward', ({ inputs, outputs }) => [inputs[0]!, outputs[0]!, outputs[1]!]),
  batchNorm,
  relu: unary('reluBackward', ofOutput),
  sigmoid: unary('sigmoidBackward', ofOutput),
  tanh: unary('tanhBackward', ofOutput),
  leakyRelu: unary('leakyReluBackward', ofOutput),
  gelu: unary('geluBackward', ofInput),
  silu: unary('siluBackward', ofInput),
  localResponseNorm: unary('localResponseNormBackward', ofInput),
  maxPool2d: unary('maxPool2dBackward', ({ outputs }) => [outputs[1]!]),
  avgPool2d: unary('avgPool2dBackward'),
  globalAvgPool: unary('globalAvgPoolBackward'),
  subsamplePad: unary('subsamplePadBackward'),
  add,
  multiply,
  concat,
  reshape: unary('reshape'),
  dropout: unary('dropoutBackward')
}

/** Where gradients begin: each loss counts with weight 1. */
export const lossRules: Partial<Record<OperatorKind, Rule>> = {
  softmaxCrossEntropy: (pass) => {
    const { inputs, outputs } = pass.operator
    const { smoothing = 0 } = pass.operator.attributes
    pass.emit('softmaxCrossEntropyBackward', [outputs[1]!, inputs[1]!], [pass.contribution(0)], { smoothing })
  },
  binaryCrossEntropy: (pass) => {
    pass.emit('binaryCrossEntropyBackward', pass.operator.inputs, [pass.contribution(0)])
  },
  meanSquaredError: (pass) => {
    pass.emit('meanSquaredErrorBackward', pass.operator.inputs, [pass.contribution(0)])
  }
}
