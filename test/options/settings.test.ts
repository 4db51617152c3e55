import { expect } from 'chai'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { datasetFromArrays } from '../../src/index.js'
import { faultsOf, unknownName } from '../../src/errors.js'
import { settingsOf } from '../../src/options/settings.js'
import { Faults } from '../../src/schema/faults.js'
import { Folder } from '../data/support/files.js'
import { thrown } from '../support/thrown.js'

describe('The settings of a run', () => {
  it('tell every fault at once, each with its path, the value received and how to fix it', () => {
    const error = thrown(() =>
      settingsOf({
        model: 'lenett',
        batch: 0,
        optimiser: { learningRate: -1, nesterov: 'yes', speed: 3 },
        synchroniser: { period: 0, alpha: 2 },
        until: { epochs: 0 },
        precision: 'f16'
      } as never)
    )
    expect(error.code).to.equal('INVALID_OPTION')
    const paths = [
      'model',
      'batch',
      'optimiser.speed',
      'optimiser.nesterov',
      'optimiser.learningRate',
      'synchroniser.period',
      'synchroniser.alpha',
      'until.epochs',
      'precision'
    ]
    expect(faultsOf(error).map(({ path }) => path)).to.have.members(paths)
    expect(faultsOf(error)).to.deep.include({ path: 'optimiser.learningRate', received: -1, fix: 'use a number above 0' })
    const [first, ...lines] = error.message.split('\n')
    expect(first).to.equal(`${paths.length} options cannot be used as they are:`)
    expect(lines).to.have.length(paths.length)
    expect(lines).to.include('  optimiser.learningRate: received -1; use a number above 0')
  })

  it('tell a single fault as itself', () => {
    expect(thrown(() => settingsOf({ model: 'mlp', batch: 0 }))).to.deep.include({
      code: 'INVALID_OPTION',
      message: 'batch: received 0; use a whole number from 1 to 1048576'
    })
    expect(thrown(() => settingsOf({ model: 'mlp', optimiser: { name: 'adam', epsilon: 1e-46 } })).message).to.equal(
      'optimiser.epsilon: received 1e-46; use a number of at least 1e-37'
    )
    expect(thrown(() => settingsOf({ model: 'mlp', optimiser: { name: 'lars', clipValue: 1 } })).message).to.equal(
      'optimiser.clipValue: received 1; lars has only momentum, nesterov, trustCoefficient'
    )
    expect(thrown(() => settingsOf({ model: 'mlp', synchroniser: new URL('file:///rule.js') as never })).message).to.equal(
      'synchroniser: received "file:///rule.js"; give an object with some of module, options'
    )
    const misplaced = thrown(() => settingsOf({ model: 'mlp', watch: 'loss' } as never))
    expect(misplaced.message).to.equal('watch: received "loss"; its place is until.monitor')
    const error = thrown(() => settingsOf({ model: 'mlp', precision: 'f16' as never }))
    expect(error.code).to.equal('UNKNOWN_NAME')
    expect(faultsOf(error)).to.deep.equal([{ path: 'precision', received: 'f16', fix: 'use one of bf16, f32; did you mean bf16?' }])
  })

  it('tell of a warm-up that it takes a schedule, and how a number is one', () => {
    const refused = (learningRate: unknown) => thrown(() => settingsOf({ model: 'mlp', optimiser: { learningRate } } as never)).message
    expect(refused({ kind: 'warmup', duration: 1, schedule: 0.1 })).to.match(
      /^optimiser\.learningRate\.schedule: received 0\.1; give a schedule of kind constant, .*, warmup: constant\(\{ learningRate: 0\.1 \}\) for a number$/
    )
    expect(refused('0.1')).to.match(/^optimiser\.learningRate: received "0\.1"; give a number, or a schedule of kind constant, .*, warmup$/)
  })

  it('refuse options for data of another kind', async () => {
    await using folder = await Folder.make()
    const texts = join(folder.path, 'texts')
    for (const name of ['good', 'bad']) {
      await mkdir(join(texts, name), { recursive: true })
      await folder.write(`texts/${name}/1.txt`, Buffer.from('a text'))
    }
    const text = await folder.write('all.txt', Buffer.from('a text'))
    const samples = datasetFromArrays({ sample: [1], samples: Float32Array.of(1, 2), labels: [0, 1], classes: 2 })
    const cases = [
      [{ data: texts, images: { size: 64 } }, /^images\.size: received 64; leave it out: .*texts is no folder of images$/],
      [{ data: text, images: { size: 64 } }, /^images\.size: received 64; leave it out: .*all\.txt is no folder of images$/],
      [{ data: texts, dataDir: 'data' }, /^dataDir: .*; leave it out: it is for data sets by name, and data is a path$/],
      [{ data: samples, dataDir: 'data' }, /^dataDir: .*, and data is a Dataset$/]
    ] as const
    for (const [options, message] of cases) expect(thrown(() => settingsOf({ model: 'mlp', ...options })).message).to.match(message)
    settingsOf({ model: 'text-classifier', data: texts, table: { testFraction: 0.5 } })
  })

  it('tell a name that other libraries have what it is here', () => {
    for (const [options, message] of [
      [{ backend: 'gpu' }, 'backend: received "gpu"; use one of cpu, cuda, reference; a GPU is cuda'],
      [{ device: 'cuda' }, 'device: received "cuda"; use backend'],
      [{ onEpochEnd: 1 }, 'onEpochEnd: received 1; use onEvaluated'],
      [{ maxGradNorm: 1 }, 'maxGradNorm: received 1; its place is optimiser.clipNorm'],
      [{ dtype: 'bf16' }, 'dtype: received "bf16"; use precision'],
      [{ optimiser: { name: 'adam', eps: 1e-6 } }, 'optimiser.eps: received 0.000001; use epsilon'],
      [{ optimiser: { warmup_steps: 500 } }, 'optimiser.warmup_steps: received 500; use warmup'],
      [{ precision: 'bfloat16' }, 'precision: received "bfloat16"; use one of bf16, f32; that is bf16'],
      [{ synchroniser: 'ddp' }, 'what DistributedDataParallel does is ssgd'],
      [{ synchroniser: 'swa' }, 'that is an average for evaluation beside any rule: use average (--average)'],
      [{ synchroniser: { name: 'ddp' } }, 'what DistributedDataParallel does is ssgd'],
      [{ synchroniser: { name: 'swa' } }, 'that is an average for evaluation beside any rule: use average (--average)'],
      [{ until: { monitor: 'val_loss' } }, 'that is loss'],
      [{ loss: 'mse' }, 'loss: received "mse"; the loss is of the model: loss of defineModel'],
      [{ loss: 0.1 }, 'loss: received 0.1; its place is until.loss'],
      [{ schedule: 'cosine' }, 'schedule: received "cosine"; its place is optimiser.schedule'],
      [{ schedule: [{ round: 0, learners: 2 }] }, 'schedule: received [{"round":0,"learners":2}]; its place is learners.schedule'],
      [{ schedule: 7 }, 'schedule: received 7; its place is learners.schedule'],
      [{ earlyStopping: true }, 'earlyStopping: received true; its place is until.patience'],
      [{ shuffle: true }, 'shuffle: received true; leave it out: each epoch has another order, by seed'],
      [{ classWeight: {} }, 'classWeight: received {}; use classWeights'],
      [{ metrics: ['accuracy'] }, 'leave it out: it is always told']
    ] as const)
      expect(thrown(() => settingsOf({ model: 'mlp', ...options } as never)).message).to.include(message)
  })

  it('tell a fault once: what was refused has a stand-in that nothing else refuses', () => {
    for (const [path, options] of [
      ['learners', { learners: 1e9, synchroniser: { alpha: 0.5 } }],
      ['optimiser', { optimiser: 7 }],
      ['model', { model: 7 }],
      ['options', 7]
    ] as const) {
      const given = typeof options === 'object' ? { model: 'mlp', ...options } : options
      const faults = faultsOf(thrown(() => settingsOf(given as never)))
      expect(faults.map((fault) => fault.path)).to.deep.equal([path])
    }
  })

  it('take in what other checks throw, and let through what is no refusal', () => {
    const faults = new Faults()
    expect(faults.attempt(() => 7)).to.equal(7)
    expect(
      faults.attempt(() => {
        throw unknownName('data', 'x', ['a'])
      })
    ).to.equal(undefined)
    expect(thrown(() => faults.throwAny()).code).to.equal('UNKNOWN_NAME')
    expect(() =>
      faults.attempt(() => {
        throw new RangeError('a fault of ours')
      })
    ).to.throw(RangeError)
  })
})
