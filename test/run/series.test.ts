import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import {
  concat,
  datasetFromArrays,
  defineModel,
  gru,
  linear,
  loadModel,
  lstm,
  takePosition,
  train,
  type Layer,
  type TrainOptions
} from '../../src/index.js'
import { testedBackends } from '../engine/support/backends.js'
import { distance, runOnnx } from '../formats/support/onnxruntime.js'
import { refused } from '../support/codes.js'
import { skip } from '../support/skip.js'

const STEPS = 12

/** Waves of all lengths, and their next number. */
function waves(count: number) {
  const samples = new Float32Array(count * STEPS)
  const targets = new Float32Array(count)
  for (let i = 0; i < count; i++) {
    const [speed, begin] = [0.3 + ((i * 7) % 10) / 16, (i * 13) % 6]
    for (let t = 0; t < STEPS; t++) samples[i * STEPS + t] = Math.sin(begin + speed * t)
    targets[i] = Math.sin(begin + speed * STEPS)
  }
  return datasetFromArrays({ sample: [STEPS, 1], samples, target: [1], targets })
}

const modelOf = (...layers: Layer[]) => defineModel({ name: 'waves', input: [STEPS, 1], layers, loss: 'meanSquaredError' })

describe('a series', () => {
  const data = waves(400)
  const folder = mkdtempSync(join(tmpdir(), 'arbalest-series-'))
  after(() => rmSync(folder, { recursive: true }))

  const options: Partial<TrainOptions> = {
    batch: 8,
    learners: 2,
    optimiser: { name: 'adam', learningRate: 0.01, schedule: 'constant' },
    seed: 3
  }
  const models = {
    'a long short-term memory': modelOf(lstm(12), takePosition(-1), linear(1)),
    'gated recurrent units': modelOf(gru(12), takePosition(-1), linear(1)),
    'both, in two directions': modelOf(concat([[gru(6)], [lstm(6, { reverse: true })]]), lstm(6), takePosition(-1), linear(1))
  }

  for (const [what, model] of Object.entries(models))
    for (const precision of ['f32', 'bf16'] as const)
      it(`is foretold by ${what} that two learners train in ${precision}`, async function () {
        const { precisions } = testedBackends().find(({ name }) => name === 'cpu')!
        if (!precisions.includes(precision)) skip(this, `this processor has no ${precision}`)
        const { testLoss } = await train({ ...options, model, data, precision, until: { epochs: 8 } }).finished
        // The numbers themselves have a mean square of a half.
        expect(testLoss).to.be.below(0.03)
      })

  it('is refused where the model answers at each position', async () => {
    const { finished } = train({ ...options, model: modelOf(lstm(4), linear(1)), data, until: { steps: 1 } })
    await refused(
      'SHAPE_MISMATCH',
      () => finished,
      'it gives [12,1] under meanSquaredError where data custom has targets [1]',
      'it answers at each of 12 positions: put takePosition(-1) or meanPositions() before its last layer'
    )
  })

  it('is foretold alike by a model from a file, in ONNX Runtime too', async () => {
    const job = train({ ...options, model: models['both, in two directions'], data, until: { epochs: 1 } })
    await job.finished
    const trained = job.model
    const [safetensors, onnx] = ['waves.safetensors', 'waves.onnx'].map((name) => join(folder, name)) as [string, string]
    await trained.save(safetensors)
    await trained.save(onnx)
    const samples = Float32Array.from({ length: 3 * STEPS }, (_, i) => Math.cos(i))
    const answers = await trained.predict(samples)
    const loaded = await loadModel(safetensors, { model: models['both, in two directions'] })
    expect(loaded.predict(samples)).to.deep.equal(answers)
    const { data: foretold } = await runOnnx(readFileSync(onnx), samples, [3, STEPS, 1])
    expect(distance(foretold, answers)).to.be.below(1e-5)
  })

  it('trains to the same weights in one piece and from a checkpoint', async () => {
    const model = models['both, in two directions']
    const checkpoint = join(folder, 'checkpoint')
    const whole = await train({ ...options, model, data, until: { epochs: 2 } }).finished
    await train({ ...options, model, data, checkpoint, until: { epochs: 1 } }).finished
    const resumed = await train({ ...options, model, data, checkpoint, until: { epochs: 2 } }).finished
    expect(resumed.weightsSha256).to.equal(whole.weightsSha256)
  })
})
