import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run as runCli, start } from './support/arbalest.js'

const SLOW_LEARNER = fileURLToPath(new URL('../fakes/slow-learner.js', import.meta.url))
const CLI = fileURLToPath(new URL('../../../bin/arbalest.js', import.meta.url))

describe('arbalest crossover', () => {
  const folder = mkdtempSync(join(tmpdir(), 'arbalest-crossover-'))
  after(() => rmSync(folder, { recursive: true }))
  const config = (name: string, options: object): string => {
    const file = join(folder, `${name}.config.mjs`)
    const job = { model: 'mlp', data: 'digits', batch: 8, learners: 2, until: { steps: 40 }, seed: 3, evaluateEvery: 1000, ...options }
    writeFileSync(file, `export default ${JSON.stringify(job)}`)
    return file
  }
  const run = (...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, 'crossover', ...args], { encoding: 'utf8', timeout: 100_000 })
    return { status, stdout, stderr }
  }

  it('prints the events of all jobs with their numbers, and ends with the figures of the device', () => {
    const jobs = [config('a', { synchroniser: 'ssgd' }), config('b', { synchroniser: 'sma' })]
    const link = ['--hosts', 'loopback', '--link', '1Gbit']
    const { status, stdout, stderr } = run(...jobs, '--policy', 'crossed', '--share', '2:1', ...link, '--json')
    expect(stderr).to.equal('')
    expect(status).to.equal(0)
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    const last = events.at(-1)! as { jobs: { weightsSha256: string }[] }
    expect(last).to.include({ event: 'finished', policy: 'crossed' })
    expect(last).to.include.keys('gain', 'predictedGain', 'jain', 'jobs')
    for (const [job, { weightsSha256 }] of last.jobs.entries()) {
      const own = events.filter((event) => event['job'] === job)
      expect(own.map(({ event }) => event)).to.include.members(['started', 'evaluated', 'finished'])
      expect(own.find(({ event }) => event === 'finished')).to.include({ weightsSha256 })
    }
  })

  it('shows in `arbalest top` whose turn it is, and has the turns in the trace of each job', async () => {
    const session = mkdtempSync(join(tmpdir(), 'arbalest-top-'))
    const env = { XDG_RUNTIME_DIR: session, TMPDIR: session, ARBALEST_TOP: 'on' }
    const traces = ['a', 'b'].map((name) => join(session, `${name}.trace.json`))
    const jobs = traces.map((trace, i) => config(`traced-${i}`, { until: { epochs: 1e6 }, optimiser: { milestones: [] }, seed: i, trace }))
    const pair = start(['crossover', ...jobs, '--policy', 'crossed', '--json'], { env })
    await pair.said('"crossover"')
    const { stdout } = await runCli(['top', '--once'], { env })
    expect(stdout).to.match(/2 jobs on one device .*crossed; (job [01] computes|no job has a turn); so far job 0 [\d.]+ s, job 1 [\d.]+ s/)
    pair.child.kill('SIGINT')
    expect((await pair.ended).code).to.equal(130)
    for (const trace of traces) {
      const events = JSON.parse(readFileSync(trace, 'utf8')) as readonly {
        name: string
        tid: number
        args?: { name?: string }
        dur?: number
      }[]
      const row = events.find(({ name, args }) => name === 'thread_name' && args?.name === 'device')!
      const turns = events.filter(({ name, tid }) => name === 'turn' && tid === row.tid)
      expect(turns.length).above(10)
      for (const { dur } of turns) expect(dur).to.be.at.least(0)
    }
    rmSync(session, { recursive: true })
  })

  it('says in which config an option is wrong, of all of them together', async () => {
    const jobs = [config('right', {}), config('wrong', { batch: -1, seed: -2 })]
    const { code, stderr } = await runCli(['crossover', ...jobs])
    expect(code).to.equal(2)
    for (const option of ['batch', 'seed'])
      expect(stderr).to.match(new RegExp(`  jobs\\[1\\]\\.${option}: received -\\d; .* \\(.*wrong\\.config\\.mjs\\)\n`))
  })

  it('takes the model that suits the data, as `arbalest train` does, where a config names none', async () => {
    const table = join(folder, 'prices.csv')
    writeFileSync(table, `size,price\n${Array.from({ length: 80 }, (_, i) => `${(7 * i) % 31},${(21 * i) % 93}`).join('\n')}\n`)
    const jobs = [0, 1].map((seed) => {
      const file = join(folder, `table-${seed}.config.mjs`)
      writeFileSync(
        file,
        `export default ${JSON.stringify({ data: table, table: { target: 'price' }, learners: 1, until: { steps: 3 }, seed })}`
      )
      return file
    })
    const { code, lines, stderr } = await runCli(['crossover', ...jobs, '--json'])
    expect(code, stderr).to.equal(0)
    const started = lines.filter(({ event }) => event === 'started')
    expect(started.map(({ model }) => model)).to.deep.equal(['mlp', 'mlp'])
  })

  it('takes the messages of `arbalest ctl` for one of its jobs, and says which is which', async () => {
    const session = mkdtempSync(join(tmpdir(), 'arbalest-ctl-'))
    const env = { XDG_RUNTIME_DIR: session, TMPDIR: session, ARBALEST_TOP: 'on' }
    const endless = { learners: 1, learner: SLOW_LEARNER, until: { epochs: 1e6 }, optimiser: { milestones: [] } }
    const jobs = [config('first', { ...endless, seed: 1 }), config('second', { ...endless, seed: 2 })]
    const pair = start(['crossover', ...jobs, '--json'], { env })
    await pair.said('"crossover"')
    const ctl = (...args: string[]) => runCli(['ctl', ...args], { env })
    const { stderr } = await ctl('status')
    expect(stderr).to.match(/^UNKNOWN_NAME: --job: several jobs run; use one of [^,]*, [^,]*\n$/)
    const idOf = (job: number) => new RegExp(`--job (\\d+) \\(job ${job}: mlp on digits\\)`).exec(stderr)?.[1] ?? 'none'
    const [first, second] = [idOf(0), idOf(1)]
    expect((await ctl('resize', '2', '--job', second)).stdout).to.match(/^2 learners from round /)
    expect((await ctl('status', '--job', first)).stdout).to.match(/, 1 learner, /)
    await ctl('stop', '--job', first)
    await pair.said('"finished"')
    // The device is none of them.
    await ctl('stop')
    expect((await pair.ended).code).to.equal(0)
    rmSync(session, { recursive: true })
  })

  it('tells the address of the page that a job alone has', async () => {
    const job = { learners: 1, until: { steps: 3 } }
    const jobs = [config('without', job), config('with', { ...job, dashboard: true })]
    const [json, text] = [await runCli(['crossover', ...jobs, '--json']), await runCli(['crossover', ...jobs])]
    expect(json.code, json.stderr).to.equal(0)
    const told = json.lines.filter(({ event }) => event === 'dashboard')
    expect(told.map(({ job: number }) => number)).to.deep.equal([1])
    expect(told[0]!['url']).to.match(/^http:/)
    expect(text.stdout).to.match(/^job 1: dashboard at http:/m)
    for (const line of text.stdout.trim().split('\n')) expect(line).to.match(/^(job [01]|device): /)
    for (const number of [0, 1]) expect(text.stdout).to.match(new RegExp(`^job ${number}: weights sha256 `, 'm'))
  })

  it('names the flag at fault, and fails with a job', () => {
    const [a, b] = [config('a', {}), config('b', { optimiser: { learningRate: 1e30 }, until: { steps: 400 } })] as const
    expect(run(a, a, '--share', '1:x'))
      .to.include({ status: 2 })
      .and.property('stderr')
      .include('--share')
    expect(run(a)).to.include({ status: 2 }).and.property('stderr').include('two or more')
    expect(run(a, a, '--link', '1Gbit'))
      .to.include({ status: 2 })
      .and.property('stderr')
      .include('--link')
    const failed = run(a, b, '--policy', 'crossed')
    expect(failed.status).to.equal(1)
    expect(failed.stdout).to.include('job 1: LOSS_NOT_FINITE').and.include('job 0: ')
  })
})
