import { expect } from 'chai'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Folder } from '../../data/support/files.js'
import { run, start } from '../support/arbalest.js'

const SLOW_LEARNER = fileURLToPath(new URL('../../fakes/slow-learner.js', import.meta.url))

// Measured next to never, for then learners rest.
const ENDLESS = [
  'train',
  '--model',
  'mlp',
  '--data',
  'digits',
  '--learners',
  '2',
  '--batch',
  '8',
  '--steps',
  '100000000',
  '--evaluate-every',
  '10000',
  '--learner',
  SLOW_LEARNER
]

describe('arbalest ctl', function () {
  this.timeout(120_000)

  it('pauses, changes, measures, saves and stops a run, which records all of it', async () => {
    await using folder = await Folder.make()
    const env = { XDG_RUNTIME_DIR: folder.path, TMPDIR: folder.path, ARBALEST_TOP: 'on' }
    const job = start([...ENDLESS, '--checkpoint-dir', join(folder.path, 'run'), '--json'], { env })
    await job.said('"progress"')
    const pid = String(job.child.pid)
    const ctl = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(['ctl', ...args], { env })
      expect(code, `${args.join(' ')}: ${stderr}`).to.equal(0)
      return stdout
    }
    expect(await ctl('pause')).to.match(/^paused before round [\d,]+ \(iteration [\d,]+\)\n$/)
    expect(await ctl('status', pid)).to.match(/^paused: round [\d,]+, iteration [\d,]+, 2 learners, learning rate 0\.0\d+\n$/)
    expect(await ctl('set', 'learning-rate', 'x0.5')).to.match(/^learning-rate x0\.5 from round [\d,]+ /)
    expect(await ctl('resize', '1', pid)).to.match(/^1 learner from round /)
    expect(await ctl('status')).to.match(/, 1 learner, /)
    expect(await ctl('measure')).to.match(/^before round [\d,]+ .*: test accuracy \d+\.\d\d%, test loss \d+\.\d+ on [\d,]+ samples\n$/)
    expect(await ctl('save')).to.match(/^checkpoint in .*run/)
    expect(await ctl('resume', pid)).to.equal('resumed\n')
    const status = JSON.parse(await ctl('status', '--json')) as {
      readonly answer: { readonly members: readonly number[]; readonly paused: boolean }
    }
    expect(status.answer.members).to.have.length(1)
    expect(status.answer.paused).to.equal(false)

    const refused = async (...args: string[]) => (await run(['ctl', ...args], { env })).stderr
    expect(await refused('resize', '0')).to.match(/^INVALID_OPTION: [^\n]*received 0[^\n]*\n$/)
    expect(await refused('set', 'learning-rate', 'xabc')).to.match(/^INVALID_OPTION: set: received "xabc"; use a number, or x and a number/)
    expect(await refused('set', 'learning-rte', '1')).to.match(/^UNKNOWN_NAME: [^\n]*learning-rate[^\n]*\n$/)
    expect(await refused('set', 'alpha', '7')).to.match(/^INVALID_OPTION: [^\n]*alpha[^\n]*7[^\n]*\n$/)
    expect(await refused('replace', '9')).to.match(/^INVALID_OPTION: [^\n]*9[^\n]*\n$/)
    expect(await refused('pause', '1')).to.equal(`UNKNOWN_NAME: PID: received 1; use one of ${pid}\n`)
    expect(await refused('status', '--job', '7')).to.match(/^UNKNOWN_NAME: --job: /)

    expect(await refused('puase')).to.match(/^UNKNOWN_NAME: [^\n]*puase[^\n]*pause[^\n]*\n$/)
    expect(await refused('resize')).to.match(/^INVALID_OPTION: [^\n]*learners/)
    expect(await refused('resize', 'many')).to.match(/^INVALID_OPTION: [^\n]*"many"; use a whole number\n$/)
    expect(await refused('pause', '1', '2')).to.match(/^INVALID_OPTION: /)
    expect(await refused('tuning', 'maybe')).to.match(/^INVALID_OPTION: [^\n]*use on or off\n$/)
    expect(await ctl('population')).to.match(/^place .*\n +0 .* 0\n$/)

    expect(await ctl('stop')).to.equal('the run ends at its next round\n')
    const { code, lines, stderr } = await job.ended
    expect(code, stderr).to.equal(0)
    const kinds = (lines.at(-1) as { readonly interventions: readonly { readonly kind: string }[] }).interventions.map(({ kind }) => kind)
    expect(kinds).to.deep.equal(['pause', 'set', 'resize', 'measure', 'save'])
    expect(await refused('pause')).to.match(/^UNKNOWN_NAME: PID: no job of this user runs here/)
  })
})
