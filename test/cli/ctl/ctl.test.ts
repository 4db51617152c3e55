import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { callOf } from '../../../src/cli/ctl/ctl-command.js'
import { thrown } from '../../support/thrown.js'
import { trainManyRounds } from '../../run/support/talked-to.js'

const ARBALEST = fileURLToPath(new URL('../../../../bin/arbalest.js', import.meta.url))

describe('arbalest ctl', () => {
  it('makes a message of each action', () => {
    expect(callOf('pause', [])).to.deep.equal({ actor: 'synchroniser', method: 'pause', args: [] })
    expect(callOf('resize', ['4', '4711'])).to.deep.equal({ actor: 'supervisor', method: 'resize', args: [4] })
    expect(callOf('set', ['learning-rate', 'x0.5'])).to.deep.include({ args: [{ learningRate: { factor: 0.5 } }] })
    expect(callOf('set', ['learning-rate', '0.01'])).to.deep.include({ args: [{ learningRate: 0.01 }] })
    expect(callOf('set', ['alpha', 'auto'])).to.deep.include({ args: [{ alpha: null }] })
    expect(callOf('tuning', ['off'])).to.deep.include({ method: 'tuning', args: [false] })
  })

  it('refuses what is no message', () => {
    expect(thrown(() => callOf('puase', [])).message).to.contain('did you mean pause?')
    expect(thrown(() => callOf('resize', [])).code).to.equal('INVALID_OPTION')
    expect(thrown(() => callOf('resize', ['many'])).message).to.contain('use a number')
    expect(thrown(() => callOf('set', ['speed', '2'])).message).to.contain('learning-rate')
    expect(thrown(() => callOf('pause', ['1', '2'])).code).to.equal('INVALID_OPTION')
  })

  it('pauses, looks at, changes and stops a run of another process', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-ctl-'))
    const variables = ['XDG_RUNTIME_DIR', 'TMPDIR', 'ARBALEST_TOP'] as const
    const before = variables.map((name) => [name, process.env[name]] as const)
    for (const name of ['XDG_RUNTIME_DIR', 'TMPDIR']) process.env[name] = folder
    delete process.env['ARBALEST_TOP']
    try {
      const job = await trainManyRounds({ until: { steps: 1_000_000 }, evaluateEvery: 1e9 })
      await job.actors.synchroniser.ask.status()
      const { round } = (await ctl('pause', '--json')).answer as { readonly round: number }
      expect((await ctl('status', '--json')).answer).to.include({ round, paused: true })
      await ctl('resize', '3', String(process.pid), '--json')
      await ctl('set', 'learning-rate', '0.001', '--json')
      expect(await ctl('resize', 'many', '--json')).to.include({ code: 'INVALID_OPTION' })
      expect(await ctl('save', '--json')).to.include({ code: 'INVALID_STATE' })
      expect(await ctl('pause', '1', '--json')).to.include({ code: 'UNKNOWN_NAME' })
      await ctl('resume', '--json')
      await ctl('stop', '--json')
      const { interventions, reason, learners } = await job.finished
      expect([reason, learners, interventions?.map(({ kind }) => kind)]).to.deep.equal(['stopped', 3, ['pause', 'resize', 'set']])
    } finally {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
      }
      rmSync(folder, { recursive: true })
    }
  }).timeout(120_000)
})

/** The line that the command writes, of its answer or its error. */
function ctl(...args: readonly string[]): Promise<{ readonly answer?: unknown; readonly code?: string }> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [ARBALEST, 'ctl', ...args], (_error, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout.trim().split('\n').at(-1)!) as { readonly answer?: unknown; readonly code?: string })
      } catch {
        reject(new Error(`ctl ${args.join(' ')}: ${stdout}${stderr}`))
      }
    })
  })
}
