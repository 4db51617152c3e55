import { expect } from 'chai'
import type { FloatTensors } from '../../src/formats/tensor.js'
import { predictionGraph } from '../../src/model/graph-builder.js'
import { elements, parametersOf } from '../../src/model/graph.js'
import { initialParameters } from '../../src/model/initialise.js'
import {
  batchNorm2d,
  conv2d,
  defineModel,
  flatten,
  linear,
  maxPool2d,
  openDataset,
  relu,
  train,
  type TrainOptions
} from '../../src/index.js'
import { refused } from '../support/codes.js'

const SEED = 9
const model = defineModel({
  name: 'partly',
  input: [1, 28, 28],
  layers: [conv2d(6, 5, { frozen: true }), batchNorm2d(), relu(), maxPool2d(4), flatten(), linear(20), relu(), linear(10)]
})

function firstValues(): Record<string, Float32Array> {
  const graph = predictionGraph(model)
  const all = initialParameters(graph, SEED)
  let at = 0
  return Object.fromEntries(parametersOf(graph).map(({ name, shape }) => [name, all.slice(at, (at += elements(shape)))]))
}

async function trained(options: Partial<TrainOptions>): Promise<FloatTensors> {
  const data = await openDataset('digits', { samples: 600 })
  const optimiser = { learningRate: 0.1, weightDecay: 0.01, momentum: 0.9 }
  return train({ model, data, learners: 3, batch: 8, until: { steps: 12 }, seed: SEED, optimiser, ...options }).model.weights()
}

describe('frozen layers in training', () => {
  const rows: readonly Partial<TrainOptions>[] = [
    { learners: 1 },
    { synchroniser: { period: 2, syncMomentum: 0.5 } },
    { optimiser: { learningRate: 0.1, weightDecay: 0.01, milestones: [0.2] } },
    ...(['ssgd', 'polyak-ruppert', 'local-sgd', 'diloco', 'easgd'] as const).map((name) => ({ synchroniser: { name } }))
  ]
  for (const [i, options] of rows.entries())
    it(`stay bit for bit under weight decay: ${JSON.stringify(options)}`, async () => {
      const before = firstValues()
      const after = await trained({ backend: i % 2 === 0 ? 'cpu' : 'reference', freeze: ['linear1.bias'], ...options })
      const moved = Object.keys(before).filter((parameter) => !same(before[parameter]!, after[parameter]!.data))
      expect(moved).to.deep.equal(['bn1.weight', 'bn1.bias', 'linear1.weight', 'linear2.weight', 'linear2.bias'])
    })

  it('are refused where a pattern is none', async () => {
    await refused('INVALID_OPTION', () => train({ model: 'mlp', freeze: 'fc1' as unknown as string[] }), 'freeze')
    await refused('UNKNOWN_NAME', () => train({ model: 'mlp', freeze: ['fc9'], data: 'digits' }).finished, 'freeze', 'fc9')
  })
})

function same(a: Float32Array, b: Float32Array): boolean {
  return Buffer.compare(Buffer.from(a.buffer, a.byteOffset, a.byteLength), Buffer.from(b.buffer, b.byteOffset, b.byteLength)) === 0
}
