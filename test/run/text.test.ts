import { expect } from 'chai'
import { parameterCount } from '../../src/model/graph-builder.js'
import { gpt } from '../../src/model/zoo/index.js'
import { train } from '../../src/run/train.js'
import { refused } from '../support/codes.js'
import { datasetFromText } from '../../src/data/datasets.js'

const RHYME = 'jack and jill went up the hill to fetch a pail of water. '

describe('a GPT on a text', function () {
  this.timeout(120_000)

  it('overfits a rhyme with two learners, tells its perplexity and says it again', async () => {
    const data = await datasetFromText({ text: RHYME.repeat(60), context: 32 })
    const model = gpt({ input: data.sample, classes: data.classes }, { layers: 1, heads: 2, width: 32 })
    const optimiser = { learningRate: 0.1, weightDecay: 0, milestones: [] }
    const job = train({ model, data, learners: 2, batch: 8, optimiser, until: { steps: 1000 }, seed: 1 })
    const { testLoss, testPerplexity, testAccuracy } = await job.finished
    expect(testLoss).to.be.below(0.2)
    expect(testPerplexity).to.equal(Math.exp(testLoss))
    expect(testAccuracy).to.be.within(0.85, 1)
    // Beyond the context too: the window then moves along.
    const said = await job.model.generate(RHYME.slice(0, 32), { length: 60, temperature: 0 })
    expect(said).to.equal(RHYME.repeat(2).slice(32, 92))
    const drawn = await job.model.generate('jack', { length: 50, seed: 4 })
    expect(drawn).to.have.lengthOf(50)
    expect(await job.model.generate('jack', { length: 50, seed: 4 })).to.equal(drawn)
    await refused('INVALID_OPTION', () => job.model.generate('JACK'), 'prompt', '"J"')
    await refused('INVALID_OPTION', () => job.model.generate(''), 'prompt')
    await refused('INVALID_OPTION', () => job.model.generate('jack', { temperature: -1 }), 'temperature')
    await refused('INVALID_OPTION', () => job.model.predict(new Float32Array(32)), 'Int32Array')
    // Any number of whole samples: logits of the next token at each position.
    expect(await job.model.predict(new Int32Array(3 * 32))).to.have.lengthOf(3 * 32 * data.classes)
    const { testLoss: again } = await job.model.evaluate(data)
    expect(again).to.be.closeTo(testLoss, 1e-6)
  })

  it('has the size that is asked for, by its name too', async () => {
    const data = await datasetFromText({ text: RHYME.repeat(20), context: 16 })
    const size = { layers: 2, heads: 3, width: 24, dropout: 0.1 }
    const job = train({ model: 'gpt', size, data, learners: 1, dryRun: true })
    const parameters: number[] = []
    job.on('started', (event) => parameters.push(event.parameters))
    await job.finished
    expect(parameters).to.deep.equal([parameterCount(gpt({ input: data.sample, classes: data.classes }, size))])
    await refused('INVALID_OPTION', () => train({ model: 'gpt', size: { width: 30 }, data }).finished, 'size.width', '4 heads')
    await refused('INVALID_OPTION', () => train({ model: 'gpt', size: { dropout: 1 }, data }).finished, 'size.dropout')
    await refused('INVALID_OPTION', () => train({ model: 'lenet', size: { layers: 2 } }).finished, 'size.layers', 'only model gpt')
    await refused(
      'INVALID_OPTION',
      () => train({ model: gpt({ input: [16], classes: 9 }), size: { heads: 2 }, data }).finished,
      'size.heads'
    )
  })

  it('is refused images, and a text is refused by a model of images', async () => {
    const data = await datasetFromText({ text: RHYME.repeat(20), context: 16 })
    await refused('SHAPE_MISMATCH', () => train({ model: 'gpt', data: 'digits', learners: 1 }).finished, 'gpt', 'text')
    await refused('SHAPE_MISMATCH', () => train({ model: 'lenet', data, learners: 1 }).finished)
  })
})
