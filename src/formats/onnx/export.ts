import { ArbalestError, invalidOption, shown } from '../../errors.js'
import { buildGraph } from '../../model/graph-builder.js'
import { NONE, type Graph, type Operator, type Value, type ValueId } from '../../model/graph.js'
import type { Model } from '../../model/model.js'
import { checkTensor, type FloatTensors } from '../tensor.js'
import { node, onnxNodes } from './nodes.js'
import { ELEMENT_TYPE, encodeModel, type NodeProto, type TensorProto, type ValueInfoProto } from './schema.js'

const IR_VERSION = 8
const OPERATOR_SET = 17

/** A protocol buffer cannot be longer. */
const LONGEST = 2 ** 31 - 1

/** Per channel or one for all, of samples in 0 to 1: x becomes (x - mean) / deviation. */
export interface Normalisation {
  readonly mean: readonly number[]
  readonly deviation: readonly number[]
}

export interface OnnxOptions {
  /** Becomes part of the network, which then takes samples in 0 to 1; left out, it takes samples that are normalised already. */
  readonly normalisation?: Normalisation
}

/**
 * A Model with its values as an ONNX file's bytes (operator set 17): `input` (N, ...sample) to `output` (N, ...), logits for a classifier,
 * for any batch N. Batch norms take their running statistics; dropout is left out.
 *
 * `tensors` has the model's parameters and its batch norms' running means and variances by their names, which the file keeps.
 * Throws UNKNOWN_NAME where one is missing, SHAPE_MISMATCH where one has another shape, INVALID_OPTION for a model beyond 2 GB.
 */
export function exportOnnx(model: Model, tensors: FloatTensors, { normalisation }: OnnxOptions = {}): Uint8Array {
  const graph = buildGraph(model, { batch: 1, mode: 'predict', ...(normalisation && { load: normalisation }) })
  const names = new Names(graph)
  const writer = new GraphParts()
  const start = normalisation ? normalise(graph, normalisation, names, writer) : 'input'
  names.set(graph.named['input']!, start)
  for (const operator of graph.operators) addOperator(operator, graph, names, writer)
  // A model of dropout alone has no operator left; its output is its input.
  const output = graph.values[graph.named['output']!]!
  if (graph.operators.length === 0) writer.nodes.push(node('Identity', 'output', [start], 'output'))
  for (const value of valuesRead(graph)) writer.initializers.push(initializer(value, tensors))
  checkSize(model, writer.initializers)
  return encodeModel({
    irVersion: IR_VERSION,
    producerName: 'arbalest',
    opsetImport: [{ domain: '', version: OPERATOR_SET }],
    graph: {
      name: model.name,
      node: writer.nodes,
      initializer: writer.initializers,
      input: [valueInfo('input', model.input, normalisation ? 'samples in 0 to 1' : 'normalised samples')],
      output: [valueInfo('output', output.shape.slice(1))]
    },
    metadataProps: []
  })
}

class GraphParts {
  readonly nodes: NodeProto[] = []
  readonly initializers: TensorProto[] = []
}

/** Values keep their names; only `input` and `output` are the network's own. */
class Names {
  readonly #names: string[]

  constructor({ values, named }: Graph) {
    this.#names = values.map(({ name }) => (name === 'output' ? 'output value' : name))
    this.#names[named['output']!] = 'output'
  }

  set(id: ValueId, name: string): void {
    this.#names[id] = name
  }

  of(id: ValueId): string {
    return id === NONE ? '' : this.#names[id]!
  }
}

function addOperator(operator: Operator, graph: Graph, names: Names, { nodes, initializers }: GraphParts): void {
  const made = onnxNodes(operator, graph, (id) => names.of(id))
  nodes.push(...made.nodes)
  for (const [name, list] of Object.entries(made.constants ?? {})) initializers.push(wholeNumbers(name, list))
}

/** (x - mean) / deviation, in the operations of the load segment; channels come second. */
function normalise(
  { values, named }: Graph,
  { mean, deviation }: Normalisation,
  names: Names,
  { nodes, initializers }: GraphParts
): string {
  const rank = values[named['input']!]!.shape.length
  let x = 'input'
  for (const [opType, what, list] of [
    ['Sub', 'mean', mean],
    ['Div', 'deviation', deviation]
  ] as const) {
    if (list.length === 0) continue
    const dims = Array.from({ length: rank }, (_, axis) => (axis === 1 ? list.length : 1))
    initializers.push(floats(`input ${what}`, dims, Float32Array.from(list)))
    const y = what === 'mean' ? 'input centred' : 'input normalised'
    nodes.push(node(opType, y, [x, `input ${what}`], y))
    x = y
  }
  return x
}

function valuesRead({ operators, values }: Graph): readonly Value[] {
  const read = new Set(operators.flatMap(({ inputs }) => inputs))
  return values.filter(({ id, role }) => read.has(id) && (role === 'parameter' || role === 'statistic'))
}

function initializer({ name, shape }: Value, tensors: FloatTensors): TensorProto {
  const tensor = Object.hasOwn(tensors, name) ? tensors[name] : undefined
  if (!tensor)
    throw new ArbalestError('UNKNOWN_NAME', `tensors: received none with the name ${name}; give all parameters and running statistics`, {
      data: { name }
    })
  checkTensor(name, tensor)
  if (!(tensor.data instanceof Float32Array)) throw invalidOption(`tensor ${name}`, tensor.data, 'use a Float32Array')
  if (shown(tensor.shape) !== shown(shape))
    throw new ArbalestError('SHAPE_MISMATCH', `tensor ${name}: received ${shown(tensor.shape)}; the model has ${shown(shape)}`, {
      data: { name }
    })
  return floats(name, shape, tensor.data)
}

function checkSize({ name }: Model, initializers: readonly TensorProto[]): void {
  const bytes = initializers.reduce((sum, { rawData }) => sum + rawData.length, 0)
  // The rest of the file is short beside its weights.
  if (bytes > 0.99 * LONGEST)
    throw invalidOption('format', 'onnx', `model ${name} has ${bytes} bytes and an ONNX file at most ${LONGEST}; use safetensors`)
}

function floats(name: string, dims: readonly number[], { buffer, byteOffset, byteLength }: Float32Array): TensorProto {
  return { name, dims, dataType: ELEMENT_TYPE.float, rawData: new Uint8Array(buffer, byteOffset, byteLength) }
}

function wholeNumbers(name: string, list: readonly number[]): TensorProto {
  const { buffer } = BigInt64Array.from(list, BigInt)
  return { name, dims: [list.length], dataType: ELEMENT_TYPE.int64, rawData: new Uint8Array(buffer) }
}

function valueInfo(name: string, sample: readonly number[], docString = ''): ValueInfoProto {
  const dim = [{ dimParam: 'N' }, ...sample.map((dimValue) => ({ dimValue }))]
  return { name, ...(docString && { docString }), type: { tensorType: { elemType: ELEMENT_TYPE.float, shape: { dim } } } }
}
