import { expect } from 'chai'
import { Command } from 'commander'
import { addTrainFlags, flagOf, trainOptionsOf } from '../../src/cli/train-flags.js'
import { datasetFromText } from '../../src/data/datasets.js'
import type { Config, TrainOptions } from '../../src/index.js'
import { tinyData } from '../fakes/job.js'
import { run } from './support/arbalest.js'

describe('The flags of a training', () => {
  it('put learners into lockstep, beside whatever else is said of their rule', () => {
    expect(trainOptionsOf({ lockstep: true }).synchroniser).to.deep.equal({ lockstep: true })
    expect(trainOptionsOf({ lockstep: true, period: 3 }, { synchroniser: 'sma' }).synchroniser).to.deep.equal({
      name: 'sma',
      period: 3,
      lockstep: true
    })
    expect(flagOf('synchroniser.lockstep', { lockstep: true })).to.equal('--lockstep')
  })

  it('that name another kind than the config does leave out what it says of that one', () => {
    const config = {
      synchroniser: { name: 'sma', alpha: 0.3 },
      optimiser: { learningRate: 0.02, momentum: 0.9 },
      average: { name: 'swa', from: 3 }
    } as const
    expect(trainOptionsOf({}, config)).to.deep.include(config)
    const others = trainOptionsOf({ synchroniser: 'local-sgd', optimiser: 'adam', learningRate: 0.001, average: 'ema' }, config)
    expect(others).to.deep.include({
      synchroniser: { name: 'local-sgd' },
      optimiser: { name: 'adam', learningRate: 0.001 },
      average: { name: 'ema' }
    })
    const same = trainOptionsOf({ synchroniser: 'sma', optimiser: 'sgd', average: 'swa', period: 2 }, config)
    expect(same).to.deep.include({
      synchroniser: { name: 'sma', alpha: 0.3, period: 2 },
      optimiser: { name: 'sgd', learningRate: 0.02, momentum: 0.9 },
      average: { name: 'swa', from: 3 }
    })
    expect(trainOptionsOf({ syncModule: 'own.mjs' }, config).synchroniser).to.deep.equal({ module: 'own.mjs' })
    const own = { synchroniser: { module: 'own.mjs', options: { a: 1 } } } as unknown as TrainOptions
    expect(trainOptionsOf({ synchroniser: 'slowmo' }, own).synchroniser).to.deep.equal({ name: 'slowmo' })
    expect(trainOptionsOf({ syncModule: 'own.mjs' }, own).synchroniser).to.deep.equal({ module: 'own.mjs' })
  })

  it('leave the model to the data, where neither they nor a config name one', async () => {
    const usual = (config: Config) => trainOptionsOf({}, config).model
    expect(['digits', 'tinyshakespeare', 'all.txt', 'rows.csv'].map((data) => usual({ data }))).to.deep.equal([
      'lenet',
      'gpt',
      'gpt',
      'mlp'
    ])
    expect(usual({ data: 'rows.csv', table: { text: 'words' } })).to.equal('text-classifier')
    expect(usual({ data: await datasetFromText({ text: 'to be or not to be', context: 1 }) })).to.equal('gpt')
    expect(usual({ data: tinyData() })).to.equal('lenet')
  })

  it('add up where a list is given in several parts; of anything else the last one counts', () => {
    const command = new Command()
    addTrainFlags(command)
    const flags = '--ignore id,name --ignore comment --milestones 1 --milestones 2.5 --batch 8 --batch 16'
    const { table, optimiser, batch } = trainOptionsOf(command.parse(flags.split(' '), { from: 'user' }).opts())
    expect({ table, optimiser, batch }).to.deep.equal({
      table: { ignore: ['id', 'name', 'comment'] },
      optimiser: { milestones: [1, 2.5] },
      batch: 16
    })
  })

  it('are told of where lockstep cannot be', async () => {
    const refused = async (...flags: string[]) => {
      const { code, stderr } = await run(['train', '--lockstep', ...flags])
      expect(code, stderr).to.equal(2)
      return stderr
    }
    expect(await refused('--sync', 'local-sgd')).to.match(
      /^INVALID_OPTION: --lockstep: received true; leave it out: only sma, easgd, eamsgd have it\n$/
    )
    expect(await refused('--devices', '2')).to.match(/^INVALID_OPTION: --devices: received 2; .*lockstep/)
  })

  it('that are true or false have a form for either, which goes over a config', async () => {
    const given = (...args: string[]) => {
      const command = new Command()
      addTrainFlags(command)
      return trainOptionsOf(command.parse(args, { from: 'user' }).opts(), {
        synchroniser: { name: 'parameter-server', readMyWrites: true }
      })
    }
    const rule = { name: 'parameter-server', readMyWrites: true }
    expect(given().synchroniser).to.deep.equal(rule)
    expect(given('--read-my-writes').synchroniser).to.deep.equal(rule)
    expect(given('--no-read-my-writes').synchroniser).to.deep.equal({ ...rule, readMyWrites: false })
    const flags = ['--model', 'mlp', '--learners', '2', '--steps', '3', '--json', '--sync', 'parameter-server', '--slack', '1']
    const { code, stderr } = await run(['train', ...flags, '--apply', 'updates', '--no-read-my-writes'])
    expect(code, stderr).to.equal(0)
    const refused = await run(['train', ...flags, '--read-my-writes', 'false'])
    expect(refused.code).to.equal(2)
    expect(refused.stderr).to.equal(
      'INVALID_OPTION: config: received "false"; there is no such file; a flag that is true or false takes no value: use --NAME or --no-NAME\n'
    )
  })

  it('train in lockstep', async () => {
    const flags = ['--model', 'mlp', '--learners', '2', '--batch', '8', '--steps', '3', '--json']
    const { code, lines, stderr } = await run(['train', '--lockstep', ...flags])
    expect(code, stderr).to.equal(0)
    expect(lines.at(-1)).to.include({ event: 'finished', iterations: 3 })
  })
})
