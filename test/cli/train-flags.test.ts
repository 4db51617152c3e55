import { expect } from 'chai'
import { flagOf, trainOptionsOf } from '../../src/cli/train-flags.js'
import { run } from './support/arbalest.js'

describe('The flags of a training', () => {
  it('put learners into lockstep, beside whatever else is said of their rule', () => {
    expect(trainOptionsOf({ lockstep: true }).synchroniser).to.deep.equal({ lockstep: true })
    expect(trainOptionsOf({ lockstep: true, every: 3 }, { synchroniser: 'sma' }).synchroniser).to.deep.equal({
      name: 'sma',
      period: 3,
      lockstep: true
    })
    expect(flagOf('synchroniser.lockstep', { lockstep: true })).to.equal('--lockstep')
  })

  it('are told of where lockstep cannot be', async () => {
    const refused = async (...flags: string[]) => {
      const { code, stderr } = await run(['train', '--lockstep', ...flags])
      expect(code, stderr).to.equal(2)
      return stderr
    }
    expect(await refused('--sync', 'local-sgd')).to.match(/^INVALID_OPTION: --lockstep: received true; use only /)
    expect(await refused('--devices', '2')).to.match(/^INVALID_OPTION: devices: received 2; .*lockstep/)
  })

  it('train in lockstep', async () => {
    const flags = ['--model', 'mlp', '--learners', '2', '--batch', '8', '--steps', '3', '--json']
    const { code, lines, stderr } = await run(['train', '--lockstep', ...flags])
    expect(code, stderr).to.equal(0)
    expect(lines.at(-1)).to.include({ event: 'finished', iterations: 3 })
  })
})
