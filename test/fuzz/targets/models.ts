import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ReadModel } from '../../../src/formats/import-weights.js'
import { parseHeader } from '../../../src/formats/safetensors-header.js'
import { predictionGraph } from '../../../src/model/graph-builder.js'
import { elements, parametersOf } from '../../../src/model/graph.js'
import { batchNorm2d, concat, conv2d, defineModel, flatten, linear, relu, residual } from '../../../src/model/layers.js'
import { rawSafetensors } from '../../formats/support/raw-safetensors.js'
import { randomTrainedModel } from '../../formats/support/random-weights.js'
import type { Choice } from '../support/choice.js'
import { damaged } from '../support/damage.js'
import { harmed, junk } from '../support/junk.js'
import { refusingBy } from '../support/refusals.js'
import type { Target } from '../support/target.js'
import { readModel, saveModel } from '../../../src/formats/model-files.js'

const MODEL = defineModel({
  name: 'small',
  input: [3, 6, 6],
  layers: [
    conv2d(4, 3, { padding: 1, bias: false, name: 'conv1' }),
    batchNorm2d({ name: 'bn1' }),
    relu(),
    residual({ body: [conv2d(4, 3, { padding: 1, name: 'conv2' })] }),
    concat([[conv2d(2, 1, { name: 'a' })], [conv2d(3, 1, { name: 'b' })]]),
    flatten(),
    linear(5, { name: 'fc' })
  ]
})

/** What `save` wrote, in its parts. */
interface Parts {
  readonly header: Record<string, unknown> & { readonly __metadata__: Record<string, string> }
  readonly data: Buffer
}

/** A model's file, harmed in its description, its other metadata, its header, or anywhere; read as it says itself, or as another model. */
export async function modelsTarget(folder: string): Promise<Target> {
  const file = join(folder, 'model.safetensors')
  const trained = randomTrainedModel(MODEL, { backend: 'reference' })
  const normalisation = { mean: [0.5, 0.4, 0.3], std: [0.2] }
  const classNames = ['a', 'b', 'c', 'd', 'e']
  await saveModel(file, { model: MODEL, weights: trained.weights(), statistics: trained.statistics(), normalisation, classNames })
  const bytes = readFileSync(file)
  const parts = partsOf(bytes)
  return async (choice) => {
    writeFileSync(file, choice.happens(0.4) ? damaged(bytes, choice) : reassembled(parts, choice))
    const codes = ['DATA_CORRUPT', 'INVALID_OPTION', 'SHAPE_MISMATCH', 'UNKNOWN_NAME', 'UNSUPPORTED_OPERATOR'] as const
    const model = await refusingBy(codes, () =>
      readModel(file, {
        ...(choice.happens(0.3) && { model: MODEL }),
        ...(choice.happens(0.3) && { strict: false }),
        ...(choice.happens(0.2) && { names: { 'conv1.weight': choice.among(['fc.weight', 'bn1.running_mean', '__proto__', '']) } }),
        ...(choice.happens(0.2) && { reinitialise: [choice.among(['fc', '*', 'conv1.*', 'a(b'])] })
      })
    )
    checkWeights(model)
  }
}

function partsOf(bytes: Buffer): Parts {
  const length = Number(bytes.readBigUInt64LE())
  const header = bytes.subarray(8, 8 + length)
  parseHeader(header, bytes.length - 8 - length, 'the whole file')
  return { header: JSON.parse(header.toString()) as Parts['header'], data: bytes.subarray(8 + length) }
}

/** Each part is harmed as the value that it stands for. */
function reassembled({ header, data }: Parts, choice: Choice): Buffer {
  const whole = structuredClone(header)
  const metadata = whole.__metadata__
  if (choice.happens(0.7)) metadata['arbalest'] = text(harmed(JSON.parse(metadata['arbalest']!), choice))
  const other = choice.among(['mean', 'std', 'classes'])
  if (choice.happens(0.2)) metadata[other] = text(choice.happens(0.5) ? junk(choice) : harmed(JSON.parse(metadata[other]!), choice))
  const harmedHeader = choice.happens(0.2) ? harmed(whole, choice) : whole
  return rawSafetensors(text(harmedHeader), choice.happens(0.1) ? damaged(data, choice) : data)
}

function text(value: unknown): string {
  try {
    return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? Number(inner) : inner)) ?? 'null'
  } catch {
    return '[' // it held itself
  }
}

/** What was taken has to be as large as the engine will believe. */
function checkWeights({ model, weights }: ReadModel): void {
  for (const { name, shape } of parametersOf(predictionGraph(model))) {
    const length = weights[name]?.data.length
    if (length !== elements(shape)) throw new Error(`${name}: ${length} numbers for the shape ${JSON.stringify(shape)}`)
  }
}
