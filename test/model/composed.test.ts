import { expect } from 'chai'
import { checkProgram } from '../../src/compiler/check.js'
import { compile } from '../../src/compiler/compile.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import { withoutOperators, withOperators } from '../../src/model/composed.js'
import { buildGraph, parameterCount } from '../../src/model/graph-builder.js'
import { composed, defineModel, linear, relu, residual } from '../../src/model/layers.js'
import type { Layer, Model } from '../../src/model/model.js'
import { train } from '../../src/training/train.js'
import { openDataset } from '../../src/data/open.js'
import { refused } from '../support/codes.js'

const at = (file: string) => new URL(`../fakes/operators/${file}.js`, import.meta.url)
const lowRank = (name: string) => composed(at('low-rank'), { name, options: { rank: 3, features: 8 } })
const model = (layers: readonly Layer[]): Model => defineModel({ name: 'own', input: [8], layers })
const lowering = () => loweringBackend(engine, 'reference')

describe('an operator of the user', () => {
  it('becomes existing operators with parameters of its own, also inside of a block', async () => {
    const plain = model([lowRank('first'), relu(), residual({ body: [lowRank('waist')] }), linear(2)])
    const loaded = await withOperators(plain)
    const { values } = buildGraph(loaded, { batch: 2, mode: 'train' })
    const parameters = values.filter(({ role }) => role === 'parameter').map(({ name }) => name)
    expect(parameters).to.deep.equal(['first.a', 'first.b', 'block1.waist.a', 'block1.waist.b', 'linear1.weight', 'linear1.bias'])
    expect(parameterCount(loaded)).to.equal(2 * (24 + 24) + 18)
    checkProgram(compile(loaded, lowering(), { batch: 2, mode: 'train', precision: 'f32' }))
    expect(structuredClone(withoutOperators(loaded))).to.deep.equal(plain)
    expect(await withOperators(loaded)).to.equal(loaded)
  })

  it('may bring a gradient of its own', async () => {
    const loaded = await withOperators(model([linear(8), composed(at('straight-through')), linear(2)]))
    const usual = compile(model([linear(8), relu(), linear(2)]), lowering(), { batch: 2, mode: 'train', precision: 'f32' })
    const own = compile(loaded, lowering(), { batch: 2, mode: 'train', precision: 'f32' })
    checkProgram(own)
    const gradients = [usual, own].map((program) => {
      const replica = engine.createReplica({ backend: 'reference', layout: program.parameters, threads: 1, seed: 1 })
      const samples = Float32Array.from({ length: 16 }, (_, i) => Math.cos(i))
      const dataset = engine.createDataset({ count: 2, sample: [8], samples, labels: Int32Array.of(0, 1), classes: 2 })
      const slot = engine.bind(replica, engine.createProgram(program), dataset)
      engine.writeVector(
        replica,
        'weights',
        Float32Array.from({ length: program.parameters.elements }, (_, i) => Math.sin(7 * i))
      )
      for (const segment of ['load', 'forward', 'backward'] as const) engine.runSegment(replica, slot, segment)
      return { all: engine.readVector(replica, 'gradients'), output: [...engine.readValue(replica, slot, 'output')] }
    })
    const [first, second] = gradients as [(typeof gradients)[0], (typeof gradients)[0]]
    expect(second.output).to.deep.equal(first.output)
    // The bias of a unit that was off learns nothing under ReLU, and something under this gradient.
    const bias = ({ all }: typeof first) => [...all.subarray(64, 72)]
    const off = bias(first).flatMap((value, unit) => (value === 0 ? [unit] : []))
    expect(off.length).to.be.greaterThan(0)
    for (const unit of off) expect(bias(second)[unit]).to.not.equal(0)
    expect([...second.all.subarray(72)]).to.deep.equal([...first.all.subarray(72)])
  })

  it('is refused, with its layer, where it is not loaded or does not keep its word', async () => {
    await refused('INVALID_MODEL', () => buildGraph(model([lowRank('odd')]), { batch: 1, mode: 'train' }), 'layer odd', 'withOperators')
    const liar = await withOperators(model([composed(at('liar'), { name: 'liar' })]))
    await refused('INVALID_MODEL', () => buildGraph(liar, { batch: 1, mode: 'train' }), 'layer liar', '(8)')
    await refused('INVALID_MODEL', () => withOperators(model([composed(new URL('../support/codes.js', import.meta.url))])), 'refused')
  })

  it('trains in a job', async () => {
    const data = await openDataset('digits', { samples: 500 })
    const flat = { ...data, sample: [784], train: { ...data.train, sample: [784] }, test: { ...data.test, sample: [784] } }
    const layers = [composed(at('low-rank'), { options: { rank: 8, features: 32 } }), composed(at('straight-through')), linear(10)]
    const own = defineModel({ name: 'own', input: [784], layers })
    const { testAccuracy } = await train({ model: own, data: flat, learners: 2, batch: 10, until: { epochs: 6 } }).finished
    expect(testAccuracy).to.be.greaterThan(0.4)
  })
})
