import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import sharp from 'sharp'
import { Folder } from '../../data/support/files.js'
import { run, start } from '../support/arbalest.js'

const TINY = ['train', '--no-config', '--model', 'mlp', '--learners', '1', '--batch', '32']

describe('arbalest runs', function () {
  this.timeout(120_000)
  let folder: Folder
  const at = (name: string) => join(folder.path, name)
  before(async () => {
    folder = await Folder.make()
    const recorded = (...flags: string[]) => run([...TINY, '--epochs', '1', '--log-dir', at('runs'), ...flags])
    await recorded('--seed', '1')
    // Where a run is recorded is no difference between runs.
    await recorded('--seed', '2', '--trace', at('trace.json'))
  })
  after(() => folder[Symbol.asyncDispose]())

  it('lists runs, the oldest first, and what they came to', async () => {
    const { code, stdout, stderr } = await run(['runs'], { cwd: folder.path })
    expect(code, stderr).to.equal(0)
    const [head, ...rows] = stdout.trimEnd().split('\n')
    expect(head).to.match(/^run .* model .* best accuracy/)
    expect(rows).to.have.length(2)
    for (const row of rows) expect(row).to.match(/^\d{8}-\d{6}-[0-9a-f]{4}  mlp .*digits .*completed +1 +1\.00 +0:\d\d +\d\d\.\d\d%/)
    expect(rows.map((row) => /seed \d$/.exec(row)?.[0])).to.deep.equal(['seed 1', 'seed 2'])
  })

  it('lists a run once that is in several logs, by the log that goes on for longest', async () => {
    const line = (event: object, time: number) => `${JSON.stringify({ run: 'a', time, ...event })}\n`
    const begun = line({ event: 'run', options: {} }, 1) + line({ event: 'progress', iteration: 1, epoch: 1, loss: 1 }, 2)
    await mkdir(at('twice'))
    await writeFile(at('twice/1.jsonl'), begun)
    await writeFile(at('twice/2.jsonl'), begun + line({ event: 'failed', code: 'INTERNAL', message: '' }, 3))
    await writeFile(at('twice/3.jsonl'), begun)
    for (const paths of [[at('twice')], [1, 2, 3].map((n) => at(`twice/${n}.jsonl`))]) {
      const { lines } = await run(['runs', ...paths, '--json'])
      expect(lines.map(({ run: name, state }) => [name, state])).to.deep.equal([['a', 'failed: INTERNAL']])
    }
  })

  it('says which options differ', async () => {
    const { stdout } = await run(['runs', at('runs'), '--compare'])
    const rows = stdout.split('\n\n')[1]!.trimEnd().split('\n')
    expect(rows).to.have.length(2)
    expect(rows[1]).to.match(/^seed +1 +2$/)
  })

  it('gives the same as JSON, of the runs that are named alone', async () => {
    const all = (await run(['runs', at('runs'), '--compare', '--json'])).lines
    expect(all).to.have.length(3)
    expect(all[2]).to.have.all.keys('differences', 'metrics', 'curves')
    expect(all[2]).to.deep.include({ differences: [{ option: 'seed', values: [1, 2] }], metrics: [] })
    const name = String(all[1]!['run'])
    expect((await run(['runs', at('runs'), '--run', name, '--json'])).lines).to.deep.equal([all[1]])
    expect((await run(['runs', at('runs'), '--run', 'x'])).stderr).to.match(/^UNKNOWN_NAME: --run: received "x"; use the beginning of/)
  })

  it('compares own metrics, and losses at the iterations that runs have in common', async () => {
    const line = (name: string, event: object) => `${JSON.stringify({ run: name, time: 1, ...event })}\n`
    const log = (name: string, every: number) =>
      line(name, { event: 'run', options: {} }) +
      Array.from({ length: 24 / every }, (_, i) => line(name, { event: 'progress', iteration: every * (i + 1), loss: 1 / (i + 1) })).join(
        ''
      ) +
      line(name, { event: 'logged', iteration: 3, learner: null, metrics: { score: 1 } }) +
      line(name, { event: 'logged', iteration: 9, learner: null, metrics: { score: every / 9, [`only ${name}`]: 0.5 } }) +
      line(name, { event: 'logged', iteration: 9, learner: 1, metrics: { 'of a learner': 1 } })
    await writeFile(at('compared.jsonl'), log('a', 2) + log('b', 3))
    const { stdout, stderr } = await run(['runs', at('compared.jsonl'), '--compare'])
    const [, options, metrics, losses] = stdout.trimEnd().split('\n\n').map((table) => table.split('\n').map((row) => row.trim().split(/ {2,}/))) // prettier-ignore
    expect(options, stderr).to.deep.equal([['All options are the same.']])
    expect(metrics).to.deep.equal([['last value of', 'a', 'b'], ['score', '0.222222', '0.333333'], ['only a', '0.5', '-'], ['only b', '-', '0.5']]) // prettier-ignore
    expect(losses).to.deep.equal([['iteration', 'a', 'b'], ['6', '0.3333', '0.5000'], ['12', '0.1667', '0.2500'], ['18', '0.1111', '0.1667'], ['24', '0.0833', '0.1250']]) // prettier-ignore
  })

  it('plots the curves of all', async () => {
    const { code, stderr } = await run(['runs', at('runs'), '--plot', at('curves.svg')])
    expect(code, stderr).to.equal(0)
    expect(stderr).to.equal('')
    const svg = await readFile(at('curves.svg'), 'utf8')
    for (const word of ['test accuracy', 'epoch', 'mlp on digits']) expect(svg).to.include(word)
    const { channels } = await sharp(Buffer.from(svg)).flatten({ background: 'white' }).stats()
    expect(channels.some(({ stdev }) => stdev > 5)).to.equal(true)
  })

  it('lists and plots runs of any number of measurements', async () => {
    const line = (event: object) => `${JSON.stringify({ run: 'measured', time: 1, ...event })}\n`
    const measured = (i: number) => line({ event: 'evaluated', iteration: i, epoch: i / 1000, testLoss: 1 + 1 / i, testAccuracy: 0.5 })
    await writeFile(
      at('measured.jsonl'),
      line({ event: 'run', options: {} }) + Array.from({ length: 150_000 }, (_, i) => measured(i + 1)).join('')
    )
    const { code, stdout, stderr } = await run(['runs', at('measured.jsonl'), '--plot', at('measured.svg')])
    expect(code, stderr).to.equal(0)
    expect(stdout).to.match(/ 50\.00% +1\.0000\n/)
    expect((await readFile(at('measured.svg'), 'utf8')).length).to.be.below(1e6)
  })

  it('names each run in whole below its curves', async () => {
    const name = '20261129-130448-f347'
    const events = [
      { event: 'run', options: {} },
      { event: 'started', model: 'drawn-digits', data: 'digits-of-mine', learners: 2 },
      { event: 'evaluated', iteration: 1, epoch: 1, testLoss: 1, testAccuracy: 0.5 }
    ]
    await writeFile(at('named.jsonl'), events.map((event) => `${JSON.stringify({ run: name, time: 1, ...event })}\n`).join(''))
    const { code, stderr } = await run(['runs', at('named.jsonl'), '--plot', at('named.svg')])
    expect(code, stderr).to.equal(0)
    expect(await readFile(at('named.svg'), 'utf8')).to.match(new RegExp(`${name} +drawn-digits on digits-of-mine<`))
  })

  it('lists and compares hundreds of logs with few open files and little memory', async () => {
    const logs = 300
    const line = (name: string, event: object) => `${JSON.stringify({ run: name, time: 1, ...event })}\n`
    await mkdir(at('hundreds'))
    for (let i = 0; i < logs; i++) {
      const name = `run ${i}`
      // Every iteration but the last one is of one run alone.
      const progress = Array.from({ length: 400 }, (_, k) => line(name, { event: 'progress', iteration: k * logs + i, epoch: 1, loss: 1 }))
      const common = line(name, { event: 'progress', iteration: 1e9, epoch: 1, loss: 1 })
      await writeFile(at(`hundreds/${i}.jsonl`), line(name, { event: 'run', options: { seed: i } }) + progress.join('') + common)
    }
    const limited = {
      through: ['sh', '-c', 'ulimit -n 150; exec "$@"', 'sh'],
      env: { NODE_OPTIONS: '--max-old-space-size=160' }
    }
    for (const paths of [[at('hundreds')], Array.from({ length: logs }, (_, i) => at(`hundreds/${i}.jsonl`))]) {
      const { code, lines, stderr } = await run(['runs', ...paths, '--compare', '--json'], limited)
      expect(code, stderr).to.equal(0)
      expect(lines).to.have.length(logs + 1)
      expect((lines.at(-1)!['curves'] as readonly { readonly iteration: number }[]).map(({ iteration }) => iteration)).to.deep.equal([1e9])
    }
  })

  it('shows a run that was killed as unfinished, with whole lines to the end', async () => {
    const log = at('killed.jsonl')
    const { child, ended, said } = start([...TINY, '--steps', '100000000', '--log', log, '--json'])
    await said('"progress"')
    child.kill('SIGKILL')
    await ended
    for (const line of (await readFile(log, 'utf8')).trimEnd().split('\n')) JSON.parse(line)
    expect((await run(['runs', log])).stdout).to.match(/ unfinished /)
  })

  it('tells of a run without an end how far it is: its learners at present, and its time of training', async () => {
    const events = [
      { event: 'run', options: {} },
      { event: 'started', model: 'mlp', data: 'digits', learners: 1 },
      { event: 'progress', iteration: 10, epoch: 1, loss: 1, learners: 1, seconds: 5 },
      { event: 'progress', iteration: 20, epoch: 2, loss: 1, learners: 6, seconds: 9 }
    ]
    const lines = (ended: readonly object[]) =>
      [...events, ...ended].map((event, i) => `${JSON.stringify({ run: 'far', time: 100 * i, ...event })}\n`).join('')
    for (const ended of [[], [{ event: 'failed', code: 'INTERNAL', message: '' }]]) {
      await writeFile(at('far.jsonl'), lines(ended))
      const [far] = (await run(['runs', at('far.jsonl'), '--json'])).lines
      expect(far).to.include({ learners: 6, epochs: 2, seconds: 9 })
    }
  })

  it('says so where there is none', async () => {
    await writeFile(at('empty.jsonl'), '')
    expect((await run(['runs', at('empty.jsonl')])).stdout).to.equal('No run is logged there.\n')
    expect((await run(['runs', at('empty.jsonl'), '--plot', at('x.svg')])).stderr).to.match(/^INVALID_OPTION: --plot/)
    expect((await run(['runs', at('empty.jsonl'), '--run', 'x'])).stderr).to.equal(
      'UNKNOWN_NAME: --run: received "x"; no run is logged there: name another log or folder\n'
    )
    expect(await run(['runs', '/nowhere'])).to.include({ code: 1 })
  })
})
