import type {
  AnsweredTensor,
  ElementType,
  Layout,
  LoweringAnswer,
  LoweringBackend,
  LoweringRequest,
  OfferedTensor
} from '../../src/compiler/program.js'
import { BYTES, parameterType } from '../../src/compiler/element-types.js'

/**
 * A backend that lowers and never runs, difficult on purpose: convolutions need channels in blocks of 8, and each of their three kinds needs
 * another layout of the weights; linear layers need plain tensors, and their data gradient transposed weights; bf16 programs need bf16 copies
 * of the weights; some operators may overwrite inputs and some need scratch memory; convolutions give a batch norm sums.
 */
export class FakeLowering implements LoweringBackend {
  readonly name = 'reference'
  readonly requests: LoweringRequest[] = []

  readonly reordersTogether: boolean

  readonly layoutsOfAnyType: boolean

  constructor(reordersTogether = false, layoutsOfAnyType = false) {
    this.reordersTogether = reordersTogether
    this.layoutsOfAnyType = layoutsOfAnyType
  }

  bytes(shape: readonly number[], type: ElementType, layout: Layout): number {
    const padded =
      layout === 'plain'
        ? shape
        : shape.map((extent, axis) => (axis === 1 || (axis === 0 && layout.startsWith('weights')) ? Math.ceil(extent / 8) * 8 : extent))
    return padded.reduce((product, extent) => product * extent, BYTES[type])
  }

  lower(request: LoweringRequest): LoweringAnswer {
    this.requests.push(request)
    const { inputs, outputs } = this.#layouts(request)
    const answer = (offered: OfferedTensor | null | undefined, form: [ElementType, Layout] | null | undefined): AnsweredTensor | null =>
      offered && form ? { type: form[0], layout: form[1], bytes: this.bytes(offered.shape, ...form) } : null
    return {
      inputs: request.inputs.map((offered, i) => answer(offered, inputs[i])),
      outputs: request.outputs.map((offered, i) => answer(offered, outputs[i])),
      scratchBytes: request.kind.startsWith('conv2d') ? 1000 : 0,
      inPlace: IN_PLACE[request.kind] ?? [],
      implementation: 'fake',
      partialSums: request.kind === 'conv2d' || request.kind === 'conv2dBackwardData' ? 2 * request.outputs[0]!.shape[0]! : 0
    }
  }

  #layouts({ kind, inputs, outputs, precision }: LoweringRequest): { inputs: Form[]; outputs: Form[] } {
    const wide = parameterType(precision)
    const images: Form = [precision, 'blocked']
    const plain: Form = [precision, 'plain']
    switch (kind) {
      case 'conv2d':
        return { inputs: [images, [precision, 'weights-forward'], [wide, 'plain']], outputs: [images] }
      case 'conv2dBackwardData':
        return { inputs: [images, [precision, 'weights-data']], outputs: [images] }
      case 'conv2dBackwardWeights':
        return {
          inputs: [images, images],
          outputs: [
            [precision, 'weights-gradient'],
            [wide, 'plain']
          ]
        }
      case 'linear':
        return { inputs: [plain, [precision, 'plain'], [wide, 'plain']], outputs: [plain] }
      case 'linearBackwardData':
        return { inputs: [plain, [precision, 'weights-transposed']], outputs: [plain] }
      case 'linearBackwardWeights':
        return {
          inputs: [plain, plain],
          outputs: [
            [wide, 'plain'],
            [wide, 'plain']
          ]
        }
      case 'reorder':
      case 'load':
        return { inputs: inputs.map(asOffered), outputs: outputs.map(asOffered) }
      default: {
        // The others take images in the layout of the first and all else plain, each in its own element type.
        const image = inputs.find((tensor) => tensor?.shape.length === 4)?.layout ?? 'plain'
        const follow = (tensor: OfferedTensor | null): Form => tensor && [tensor.type, tensor.shape.length === 4 ? image : 'plain']
        return { inputs: inputs.map(follow), outputs: outputs.map(follow) }
      }
    }
  }
}

type Form = [ElementType, Layout] | null

function asOffered(tensor: OfferedTensor | null): Form {
  return tensor && [tensor.type, tensor.layout ?? 'plain']
}

/** The outputs that may overwrite inputs, by position. */
export const IN_PLACE: Readonly<Record<string, [number, number][]>> = {
  relu: [[0, 0]],
  reluBackward: [[0, 1]],
  batchNorm: [[0, 0]],
  batchNormBackward: [
    [0, 5],
    [3, 6]
  ],
  add: [
    [0, 0],
    [0, 1]
  ],
  dropout: [[0, 0]],
  softmaxCrossEntropyBackward: [[0, 0]]
}
