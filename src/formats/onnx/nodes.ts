import { ArbalestError } from '../../errors.js'
import { NONE, type Graph, type Operator, type OperatorKind } from '../../model/graph.js'
import { SEQUENCE_RULES } from './sequence-nodes.js'
import { float, node, number, one, type AttributeValue, type OnnxNodes, type Rule, type Site } from './site.js'

/** Every operator of a forward Graph in mode `predict`, by ONNX's operator set 17. */
const RULES: Partial<Record<OperatorKind, Rule>> = {
  ...SEQUENCE_RULES,
  conv2d: (site) => one('Conv', site, { ...strides(site), group: number(site, 'groups') }),
  linear: (site) => (site.shape.length === 2 ? one('Gemm', site, { transB: 1 }) : SEQUENCE_RULES.linear(site)),
  batchNormInference: (site) =>
    one('BatchNormalization', { ...site, inputs: site.inputs.slice(0, 5) }, { epsilon: float(number(site, 'epsilon')) }),
  relu: (site) => one('Relu', site),
  sigmoid: (site) => one('Sigmoid', site),
  tanh: (site) => one('Tanh', site),
  leakyRelu: (site) => one('LeakyRelu', site, { alpha: float(number(site, 'slope')) }),
  gelu: (site) => (number(site, 'approximate') === 1 ? geluByTanh(site) : geluByErf(site)),
  silu(site) {
    const sigmoid = `${site.output} sigmoid`
    return {
      nodes: [
        node('Sigmoid', `${site.name} sigmoid`, site.inputs, sigmoid),
        node('Mul', site.name, [site.inputs[0]!, sigmoid], site.output)
      ]
    }
  },
  localResponseNorm,
  maxPool2d: (site) => one('MaxPool', site, window(site)),
  avgPool2d: (site) => one('AveragePool', site, { ...window(site), count_include_pad: 1 }),
  globalAvgPool(site) {
    const pooled = `${site.output} pooled`
    return {
      nodes: [node('GlobalAveragePool', site.name, site.inputs, pooled), node('Flatten', `${site.name} flatten`, [pooled], site.output)]
    }
  },
  add: (site) => one('Add', site),
  multiply: (site) => one('Mul', site),
  concat: (site) => one('Concat', site, { axis: 1 }),
  reshape,
  subsamplePad(site) {
    const [, , height, width] = site.shape as [number, number, number, number]
    const stride = number(site, 'stride')
    const part = (what: string): string => `${site.output} ${what}`
    return {
      nodes: [
        node('Slice', `${site.name} slice`, [site.inputs[0]!, part('starts'), part('ends'), part('axes'), part('steps')], part('sliced')),
        node('Pad', site.name, [part('sliced'), part('pads')], site.output)
      ],
      constants: {
        [part('starts')]: [0, 0],
        [part('ends')]: [height, width],
        [part('axes')]: [2, 3],
        [part('steps')]: [stride, stride],
        [part('pads')]: [0, number(site, 'before'), 0, 0, 0, number(site, 'after'), 0, 0]
      }
    }
  }
}

/** The first axis takes up the batch, whatever its size. */
function reshape(site: Site): OnnxNodes {
  const { name, inputs, output, shape, result } = site
  if (result.length === 2 && result[0] === shape[0]) return one('Flatten', site)
  const wanted = `${output} shape`
  return { nodes: [node('Reshape', name, [inputs[0]!, wanted], output)], constants: { [wanted]: [-1, ...result.slice(1)] } }
}

/** x / 2 * (1 + erf(x / sqrt(2))): operator set 17 has no Gelu. */
function geluByErf({ name, inputs: [x], output }: Site): OnnxNodes {
  const part = (what: string): string => `${output} ${what}`
  return {
    nodes: [
      node('Mul', `${name} scale`, [x!, part('root')], part('scaled')),
      node('Erf', `${name} erf`, [part('scaled')], part('erf')),
      node('Add', `${name} shift`, [part('erf'), part('one')], part('share')),
      node('Mul', `${name} half`, [x!, part('half')], part('halved')),
      node('Mul', name, [part('halved'), part('share')], output)
    ],
    scalars: { [part('root')]: Math.SQRT1_2, [part('one')]: 1, [part('half')]: 0.5 }
  }
}

/** x * sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), which is the form with tanh. */
function geluByTanh({ name, inputs: [x], output }: Site): OnnxNodes {
  const part = (what: string): string => `${output} ${what}`
  return {
    nodes: [
      node('Mul', `${name} square`, [x!, x!], part('square')),
      node('Mul', `${name} cubic`, [part('square'), part('coefficient')], part('cubic')),
      node('Add', `${name} sum`, [part('cubic'), part('factor')], part('sum')),
      node('Mul', `${name} argument`, [x!, part('sum')], part('argument')),
      node('Sigmoid', `${name} sigmoid`, [part('argument')], part('share')),
      node('Mul', name, [x!, part('share')], output)
    ],
    scalars: {
      [part('coefficient')]: 2 * Math.sqrt(2 / Math.PI) * 0.044715,
      [part('factor')]: 2 * Math.sqrt(2 / Math.PI)
    }
  }
}

/** ONNX has the longer half of an even window behind the channel, and PyTorch before it. */
function localResponseNorm(site: Site): OnnxNodes {
  const [size, alpha, beta, k] = ['size', 'alpha', 'beta', 'k'].map((each) => number(site, each)) as [number, number, number, number]
  if (size % 2 === 1) return one('LRN', site, { size, alpha: float(alpha), beta: float(beta), bias: float(k) })
  throw new ArbalestError(
    'UNSUPPORTED_OPERATOR',
    `layer ${site.name}: size: received ${size}; ONNX has local response normalisation of odd sizes only: use ${size + 1}`
  )
}

/** Throws UNSUPPORTED_OPERATOR for an operator that ends in a fused ReLU or add, and for those of training. */
export function onnxNodes(
  { kind, name, inputs, outputs, attributes }: Operator,
  { values }: Graph,
  nameOf: (id: number) => string
): OnnxNodes {
  const rule = RULES[kind]
  const fused = attributes['relu'] === 1 || (kind === 'batchNormInference' && inputs[5] !== NONE)
  if (!rule || fused)
    throw new ArbalestError(
      'UNSUPPORTED_OPERATOR',
      `operator ${name}: ${kind}${fused ? ' fused with its neighbours' : ''} has no ONNX form; export the graph of mode predict as it is built`
    )
  return rule({
    name,
    inputs: inputs.map(nameOf),
    output: nameOf(outputs[0]!),
    shape: values[inputs[0]!]!.shape,
    result: values[outputs[0]!]!.shape,
    shapes: inputs.map((id) => (id === NONE ? [] : values[id]!.shape)),
    attributes
  })
}

function window(site: Site): Record<string, AttributeValue> {
  return { kernel_shape: pair(site, 'kernel'), ...strides(site) }
}

/** ONNX gives the padding before every axis, then after. */
function strides(site: Site): Record<string, AttributeValue> {
  const padding = pair(site, 'padding')
  return { strides: pair(site, 'stride'), pads: [...padding, ...padding] }
}

function pair({ attributes }: Site, name: string): readonly number[] {
  return attributes[name] as readonly number[]
}
