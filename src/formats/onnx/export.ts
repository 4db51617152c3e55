import { ArbalestError, invalidOption } from '../../errors.js'
import { predictionGraph } from '../../model/graph-builder.js'
import { elements, NONE, parametersOf, type Graph, type Operator, type Value, type ValueId } from '../../model/graph.js'
import { checkModel, takesTokens, type Model } from '../../model/model.js'
import { node, type OnnxNodes } from '../../model/operators/onnx.js'
import { operatorRow } from '../../model/operators/table.js'
import { checkDescription, checkedNormalisation, type SampleEncoding } from '../encoding.js'
import { dataOf, type FloatTensors } from '../tensor.js'
import { check } from '../../schema/faults.js'
import { group, option } from '../../schema/group.js'
import { anything } from '../../schema/values.js'
import { ELEMENT_TYPE, encodeModel, nodeProto, type NodeProto, type TensorProto, type ValueInfoProto } from './schema.js'
import type { Normalisation } from '../../model/normalisation.js'

const IR_VERSION = 8
const OPERATOR_SET = 17

/** The greatest length of a protocol buffer, in bytes. */
const LONGEST = 2 ** 31 - 1

/** Further contents of the file. */
export interface OnnxOptions {
  /** Normalises the input inside the network, whose samples are then from 0 to 1. If omitted, the network takes normalised samples. */
  readonly normalisation?: Normalisation
  /** The names of the classes or tokens, stored as a JSON list under `classes` in the file's metadata, as in safetensors. */
  readonly classNames?: readonly string[] | undefined
  /** How rows of a table or texts become samples, stored as JSON under `encoding`. */
  readonly encoding?: SampleEncoding | undefined
}

const onnxOptions = group({
  normalisation: option(anything<Normalisation>()),
  classNames: option(anything<readonly string[]>()),
  encoding: option(anything<SampleEncoding>())
})

/**
 * The bytes of an ONNX file (operator set 17) with a model and its weights. The network maps `input` (N, ...sample), 64-bit ids for a model of tokens, to
 * `output` (N, ...), logits for a classifier, for any batch N. Batch norms use their running statistics; dropout is omitted.
 *
 * `tensors` has the parameters and the running means and variances of batch norms by name; the file keeps these names. Throws UNKNOWN_NAME if one is
 * missing, SHAPE_MISMATCH if one has another shape, INVALID_OPTION for a model of more than 2 GB.
 */
export function exportOnnx(model: Model, tensors: FloatTensors, options: OnnxOptions = {}): Uint8Array {
  const { normalisation, classNames, encoding } = check(onnxOptions, options)
  if (typeof tensors !== 'object' || tensors === null)
    throw invalidOption('tensors', tensors, 'give an object with the tensors by their names')
  checkModel(model)
  if (normalisation !== undefined) checkedNormalisation(normalisation, model)
  checkDescription(classNames, encoding)
  const graph = predictionGraph(model, normalisation)
  const network = new Network(graph, tensors)
  if (normalisation) network.normalise(normalisation)
  for (const operator of graph.operators) network.add(operator)
  network.end()
  const { nodes, initializers } = network
  checkSize(
    model,
    initializers.reduce((sum, { rawData }) => sum + rawData.length, 0)
  )
  return encodeModel({
    irVersion: IR_VERSION,
    producerName: 'arbalest',
    opsetImport: [{ version: OPERATOR_SET }],
    metadataProps: Object.entries({ classes: classNames, encoding }).flatMap(([key, value]) =>
      value ? [{ key, value: JSON.stringify(value) }] : []
    ),
    graph: {
      name: model.name,
      node: nodes,
      initializer: initializers,
      input: [
        takesTokens(model) ? tokensInfo(model) : valueInfo('input', model.input, normalisation ? 'samples in 0 to 1' : 'normalised samples')
      ],
      output: [valueInfo('output', graph.values[graph.named['output']!]!.shape.slice(1))]
    }
  })
}

/** Throws if `exportOnnx` cannot export the model, whatever its weights: UNSUPPORTED_OPERATOR or INVALID_OPTION. */
export function checkOnnx(model: Model): void {
  const graph = predictionGraph(model)
  for (const operator of graph.operators) onnxNodes(operator, graph, String)
  checkSize(
    model,
    parametersOf(graph).reduce((sum, { shape }) => sum + Float32Array.BYTES_PER_ELEMENT * elements(shape), 0)
  )
}

/**
 * Converts an operator of a forward Graph in mode `predict` to nodes of ONNX's operator set 17; `nameOf` returns the names of its values. Throws
 * UNSUPPORTED_OPERATOR for an operator with a fused ReLU or sum, and for the operators of training.
 */
export function onnxNodes(
  { kind, name, inputs, outputs, attributes }: Operator,
  { values }: Graph,
  nameOf: (id: number) => string
): OnnxNodes {
  const { onnx, residualInput } = operatorRow(kind)
  const isFused = attributes['relu'] === 1 || (residualInput !== undefined && inputs[residualInput] !== NONE)
  if (!onnx || isFused)
    throw new ArbalestError(
      'UNSUPPORTED_OPERATOR',
      `operator ${name}: ${kind}${isFused ? ' fused with its neighbours' : ''} has no ONNX form; export the graph of mode predict as it is built`
    )
  return onnx({
    name,
    inputs: inputs.map(nameOf),
    output: nameOf(outputs[0]!),
    shapes: inputs.map((id) => (id === NONE ? [] : values[id]!.shape)),
    result: values[outputs[0]!]!.shape,
    attributes
  })
}

/** Converts a Graph to ONNX nodes. Values keep their names, except for the network's `input` and `output`. */
class Network {
  readonly nodes: NodeProto[] = []
  readonly #initializers = new Map<string, TensorProto>()
  readonly #graph: Graph
  readonly #tensors: FloatTensors
  readonly #names: string[]

  constructor(graph: Graph, tensors: FloatTensors) {
    this.#graph = graph
    this.#tensors = tensors
    this.#names = graph.values.map(({ name }) => (name === 'output' ? 'output value' : name))
    if (graph.operators.length > 0) this.#names[graph.named['output']!] = 'output'
  }

  get initializers(): TensorProto[] {
    return [...this.#initializers.values()]
  }

  /** Computes (x - mean) / std, as the load segment does, for samples (N, C, ...). */
  normalise({ mean, std }: Normalisation): void {
    this.#scale('Sub', 'mean', mean, 'input centred')
    this.#scale('Div', 'std', std, 'input normalised')
  }

  add(operator: Operator): void {
    const { nodes, constants = {}, scalars = {}, tables = {} } = onnxNodes(operator, this.#graph, (id) => this.#name(id))
    this.nodes.push(...nodes.map(nodeProto))
    for (const [name, list] of Object.entries(constants)) this.#initializers.set(name, wholeNumbers(name, list))
    for (const [name, value] of Object.entries(scalars)) this.#initializers.set(name, floats(name, [], Float32Array.of(value)))
    for (const [name, { shape, data }] of Object.entries(tables)) this.#initializers.set(name, floats(name, shape, data))
    for (const id of operator.inputs) if (id !== NONE) this.#initialise(this.#graph.values[id]!)
  }

  /** A network of dropout alone has no nodes: its output is its input. */
  end(): void {
    const { operators, named } = this.#graph
    if (operators.length === 0) this.nodes.push(nodeProto(node('Identity', 'output', [this.#name(named['output']!)], 'output')))
  }

  #scale(opType: string, what: string, channels: readonly number[], y: string): void {
    if (channels.length === 0) return
    const input = this.#graph.named['input']!
    const dims = this.#graph.values[input]!.shape.map((_, axis) => (axis === 1 ? channels.length : 1))
    const constant = `input ${what}`
    this.#initializers.set(constant, floats(constant, dims, Float32Array.from(channels)))
    this.nodes.push(nodeProto(node(opType, y, [this.#name(input), constant], y)))
    this.#names[input] = y
  }

  #name(id: ValueId): string {
    return id === NONE ? '' : this.#names[id]!
  }

  #initialise({ name, shape, role }: Value): void {
    if (role === 'parameter' || role === 'statistic') this.#initializers.set(name, floats(name, shape, dataOf(name, shape, this.#tensors)))
  }
}

function checkSize({ name }: Model, bytes: number): void {
  // 1% is more than enough for the rest of the file.
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

function tokensInfo({ input }: Model): ValueInfoProto {
  return valueInfo('input', input, 'token ids', ELEMENT_TYPE.int64)
}

function valueInfo(name: string, sample: readonly number[], docString = '', elemType: number = ELEMENT_TYPE.float): ValueInfoProto {
  const dim = [{ dimParam: 'N' }, ...sample.map((dimValue) => ({ dimValue }))]
  return { name, ...(docString && { docString }), type: { tensorType: { elemType, shape: { dim } } } }
}
