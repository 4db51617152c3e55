import { BYTES } from './element-types.js'
import { PLAIN, type AnsweredTensor, type ElementType, type LoweringBackend, type OfferedTensor } from './program.js'

/** Everything in canonical order, as it is counted in the literature: no padding, no scratch, no copies in other layouts. */
export function canonicalLowering(backend: LoweringBackend): LoweringBackend {
  const bytes = (shape: readonly number[], type: ElementType): number => shape.reduce((product, extent) => product * extent, BYTES[type])
  const plain = (tensor: OfferedTensor | null): AnsweredTensor | null =>
    tensor && { type: tensor.type, layout: PLAIN, bytes: bytes(tensor.shape, tensor.type) }
  const offered = (tensor: OfferedTensor | null): OfferedTensor | null => tensor && { ...tensor, layout: PLAIN }
  return {
    name: backend.name,
    bytes,
    lower: (request) => ({
      inputs: request.inputs.map(plain),
      outputs: request.outputs.map(plain),
      scratchBytes: 0,
      // What an operator may overwrite is the backend's own; the products overwrite nothing.
      inPlace: isProduct(request.kind)
        ? []
        : backend.lower({ ...request, inputs: request.inputs.map(offered), outputs: request.outputs.map(offered) }).inPlace,
      implementation: 'canonical'
    })
  }
}

function isProduct(kind: string): boolean {
  return kind.startsWith('conv2d') || kind.startsWith('linear') || kind === 'reorder'
}
