import { expect } from 'chai'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { builtMpi } from '../../../src/engine/mpi.js'
import { skip } from '../../support/skip.js'
import { run, start } from '../support/arbalest.js'
import { rankOf, trainingsWith } from './support/trainings.js'

const train = (steps: number, seed: number, sync: string) =>
  `train --model lenet --learners 2 --batch 8 --steps ${steps} --seed ${seed} --sync ${sync}`.split(' ')
const FORGING = fileURLToPath(new URL('support/forging-job.js', import.meta.url))

describe('Processes of two jobs that share a hub', () => {
  const FIRST = train(60, 3, 'ssgd')
  const SECOND = train(60, 4, 'sma')
  let alone: unknown[]
  before(async function () {
    const mpi = builtMpi()
    if (!mpi) skip(this, 'MPI is not built: npm run setup:mpi, npm run build:mpi')
    if (mpi.name !== 'Open MPI' || parseInt(mpi.version, 10) < 5) skip(this, 'jobs share hubs with Open MPI from 5 on')
    alone = []
    for (const words of [FIRST, SECOND]) {
      const { lines } = await run(['launch', '-n', '2', '--json', '--', ...words])
      alone.push(lines.at(-1)!['weightsSha256'])
    }
  })

  const launch = (first: readonly string[], second: readonly string[]) =>
    ['launch', '-n', '2', '--hubs', '1', '--json', '--', ...first, ':', ...second] as const
  const of = (lines: readonly Record<string, unknown>[], event: string, job: number) =>
    lines.filter((line) => line['event'] === event && line['job'] === job)

  it('end with the weights that each has alone', async () => {
    const { code, lines, stderr } = await run(launch(FIRST, SECOND))
    expect(code, stderr).to.equal(0)
    for (const job of [0, 1]) {
      const finished = of(lines, 'finished', job)
      expect(finished).to.have.length(1)
      expect(finished[0]!['weightsSha256']).to.equal(alone[job])
      expect(of(lines, 'served', job)[0]).to.deep.equal({ event: 'served', job, refused: { nonces: 0, lengths: 0, keys: 0 } })
    }
  })

  for (const [who, rank] of [
    ['the first process', 0],
    ['another process', 1]
  ] as const)
    it(`go on when ${who} of the other job is killed with kill -9`, async () => {
      const name = `--seed=${900_000 + process.pid}`
      const { said, ended } = start(launch([...train(100_000, 1, 'ssgd'), name], train(400, 4, 'sma')))
      await said('"job":0,"event":"progress"')
      process.kill(
        trainingsWith(name).find((pid) => rankOf(pid) === rank)!,
        'SIGKILL'
      )
      const { code, lines, stderr } = await ended
      expect(code, stderr).to.equal(1)
      expect((of(lines, 'served', 0)[0] as { failed?: { code: string } }).failed?.code).to.equal('HOST_LOST')
      const undisturbed = await run(['launch', '-n', '2', '--json', '--', ...train(400, 4, 'sma')])
      expect(of(lines, 'finished', 1)[0]!['weightsSha256']).to.equal(undisturbed.lines.at(-1)!['weightsSha256'])
      expect(of(lines, 'served', 1)[0]!['failed']).to.equal(undefined)
      expect(trainingsWith(name)).to.deep.equal([])
    })

  it('go on where the disk is full to which their hub writes', async () => {
    const { lines: shown } = await run([
      'launch',
      '-n',
      '1',
      '--hubs',
      '1',
      '--json',
      '--dry-run',
      '--',
      ...FIRST,
      ':',
      ...train(2_000, 4, 'sma')
    ])
    const line = shown[0]!['line'] as readonly string[]
    const hub = line.lastIndexOf('hub') - 2
    const lost = [...line.slice(0, hub), 'sh', '-c', 'exec "$@" > /dev/full', '-', ...line.slice(hub)]
    const env = { ...process.env, ARBALEST_LAUNCHED: '1', ARBALEST_TENANTS: '1,1' }
    const ended = promisify(execFile)(lost[0]!, lost.slice(1), { env, timeout: 120_000 })
    // The hub ends with 1, as a command does whose output is lost.
    const { stdout, stderr } = await ended.catch((error: unknown) => error as { readonly stdout: string; readonly stderr: string })
    expect(stderr).to.include('WRITE_FAILED: stdout: it cannot be written (ENOSPC); the run continues without it')
    for (const job of [0, 1]) expect(stdout).to.match(new RegExp(`^{"job":${job},"event":"finished","reason":"completed"`, 'm'))
  })

  it('lose nothing when 999 messages of one of them have a wrong nonce, length or key', async () => {
    const { lines: shown } = await run(['launch', '-n', '2', '--hubs', '1', '--json', '--dry-run', '--', ...FIRST, ':', ...SECOND])
    const line = shown[0]!['line'] as readonly string[]
    const program = line.indexOf('train')
    const forging = [...line.slice(0, program - 1), FORGING, '60', '999', ...line.slice(line.indexOf(':', program))]
    const env = { ...process.env, ARBALEST_LAUNCHED: '1', ARBALEST_TENANTS: '2,2' }
    const { stdout } = await promisify(execFile)(forging[0]!, forging.slice(1), { env, timeout: 120_000 })
    const lines = stdout
      .split('\n')
      .filter((each) => each.startsWith('{'))
      .map((each) => JSON.parse(each) as Record<string, unknown>)
    for (const job of [0, 1]) expect(of(lines, 'finished', job)[0]!['weightsSha256']).to.equal(alone[job])
    expect(of(lines, 'served', 0)[0]!['refused']).to.deep.equal({ nonces: 333, lengths: 333, keys: 333 })
    expect(of(lines, 'served', 1)[0]!['refused']).to.deep.equal({ nonces: 0, lengths: 0, keys: 0 })
  })
})
