import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { builtMpi } from '../../../src/engine/mpi.js'
import { usableCores } from '../../../src/engine/machine.js'
import { skip } from '../../support/skip.js'
import { run, start } from '../support/arbalest.js'
import { changedCode, trainingsWith } from './support/trainings.js'

const SYNCHRONOUS = ['sma', 'easgd', 'eamsgd', 'ssgd', 'local-sgd', 'post-local-sgd', 'lookahead', 'slowmo', 'diloco', 'polyak-ruppert']
const SLACK = ['parameter-server --slack 2']

describe('Processes of a launcher that train together', () => {
  let folder: string
  beforeEach(function () {
    if (!builtMpi()) skip(this, 'MPI is not built: npm run setup:mpi, npm run build:mpi')
    if (usableCores() < 2) skip(this, 'two devices need two cores')
    folder = mkdtempSync(join(tmpdir(), 'arbalest-hosts-'))
  })
  afterEach(() => folder && rmSync(folder, { recursive: true }))

  const train = (steps: number, ...more: readonly string[]) =>
    ['train', '--json', '--model', 'lenet', '--learners', '4', '--batch', '8', '--seed', '3', '--steps', String(steps)].concat(more)
  const launch = (processes: number, words: readonly string[]) => ['launch', '-n', String(processes), '--json', '--', ...words]

  for (const rule of [...SYNCHRONOUS, ...SLACK])
    it(`end with the weights of as many devices of one process: ${rule}`, async () => {
      const words = train(40, '--sync', ...rule.split(' '))
      const together = await run(launch(2, words))
      expect(together.code, together.stderr).to.equal(0)
      const alone = await run([...words, '--devices', '2'])
      expect(alone.code, alone.stderr).to.equal(0)
      const { weightsSha256 } = alone.lines.at(-1)!
      expect(together.lines.at(-1)).to.include({ event: 'finished', weightsSha256, hosts: 2, learners: 4 })
      expect(together.lines.filter(({ event }) => event === 'finished')).to.have.length(1)
    })

  for (const devices of [1, 2])
    it(`have one collective over ${2 * devices} devices with memories of their own`, async () => {
      const words = 'train --json --backend cuda-host --model mlp --learners 4 --batch 8 --seed 3 --steps 40 --devices'.split(' ')
      const together = await run(launch(2, [...words, String(devices)]))
      expect(together.code, together.stderr).to.equal(0)
      const alone = await run([...words, String(2 * devices)])
      expect(alone.code, alone.stderr).to.equal(0)
      const { weightsSha256 } = alone.lines.at(-1)!
      expect(together.lines.at(-1)).to.include({ event: 'finished', hosts: 2, learners: 4 })
      // With two devices on each host the sum has the learners in another order.
      if (devices === 1) expect(together.lines.at(-1)).to.include({ weightsSha256 })
    })

  it('end with the same weights when processes are stopped and continued at random', async () => {
    const words = train(150, '--evaluate-every', '0.02', '--checkpoint-dir', join(folder, 'stopped'))
    const { said, ended } = start(launch(2, words))
    await said('"event":"started"')
    const end = { seen: false }
    void ended.finally(() => (end.seen = true))
    while (!end.seen) {
      const all = trainingsWith(join(folder, 'stopped'))
      const pid = all[Math.floor(Math.random() * all.length)]
      if (pid !== undefined) signal(pid, 'SIGSTOP')
      await sleep(Math.random() * 150)
      if (pid !== undefined) signal(pid, 'SIGCONT')
      await sleep(Math.random() * 100)
    }
    const { code, lines, stderr } = await ended
    expect(code, stderr).to.equal(0)
    const alone = await run([...train(150, '--evaluate-every', '0.02'), '--devices', '2'])
    expect(lines.at(-1)!['weightsSha256']).to.equal(alone.lines.at(-1)!['weightsSha256'])
  })

  it('train again from the newest checkpoint after a kill -9 of any of them, to the weights of an undisturbed run', async () => {
    const words = (name: string) => train(600, '--checkpoint-period', '50', '--checkpoint-dir', join(folder, name))
    const { said, ended } = start(launch(2, words('killed')))
    await said('"folder":"')
    const all = trainingsWith(join(folder, 'killed'))
    expect(all).to.have.length(2)
    process.kill(all[Math.floor(Math.random() * 2)]!, 'SIGKILL')
    const began = performance.now()
    await said('"event":"resumed"')
    expect(performance.now() - began).to.be.below(15_000)
    const { code, lines, stderr } = await ended
    expect(code, stderr).to.equal(0)
    expect(stderr).to.match(/restart 1 of 3 from the newest checkpoint, 2 processes on localhost\n/)
    const undisturbed = await run(launch(2, words('undisturbed')))
    expect(lines.at(-1)!['weightsSha256']).to.equal(undisturbed.lines.at(-1)!['weightsSha256'])
    expect(trainingsWith(folder)).to.deep.equal([])
  })

  it('leave the code of the C library as its file has it', async () => {
    const { child, said, ended } = start(launch(2, train(100_000, '--checkpoint-dir', join(folder, 'run'))))
    await said('"event":"progress"')
    const all = trainingsWith(folder)
    expect(all).to.have.length(2)
    for (const pid of all) expect(changedCode(pid, '/libc.so.6'), `process ${pid}`).to.deep.equal([])
    child.kill('SIGINT')
    await ended
  })

  it('say once whether the model overfits, and end as the first one does', async () => {
    const { code, stdout, stderr } = await run([
      'launch',
      '-n',
      '2',
      '--',
      'train',
      '--model',
      'mlp',
      '--learners',
      '2',
      '--batch',
      '8',
      '--overfit',
      '1'
    ])
    expect(code, stderr).to.equal(0)
    expect(stdout.match(/the loss (?:collapsed|did not collapse)/g), stdout).to.deep.equal(['the loss collapsed'])
    const short = await run(['launch', '-n', '2', '--', 'train', '--model', 'mlp', '--learners', '2', '--overfit', '1', '--steps', '3'])
    expect([short.code, short.stderr]).to.deep.equal([1, ''])
    expect(short.stdout.match(/the loss (?:collapsed|did not collapse)/g), short.stdout).to.deep.equal(['the loss did not collapse'])
  })

  it('stop together on Ctrl-C, with a checkpoint', async () => {
    const { child, said, ended } = start(launch(2, train(100_000, '--checkpoint-dir', join(folder, 'run'))))
    await said('"event":"progress"')
    child.kill('SIGINT')
    const { code, lines } = await ended
    expect(code).to.equal(130)
    expect(lines.at(-1)).to.include({ event: 'finished', reason: 'stopped' })
    expect(trainingsWith(folder)).to.deep.equal([])
  })

  it('are ended when arbalest launch is killed', async () => {
    const { child, said, ended } = start(launch(2, train(100_000, '--checkpoint-dir', join(folder, 'run'))))
    await said('"event":"progress"')
    child.kill('SIGKILL')
    await ended
    for (let tries = 0; trainingsWith(folder).length > 0; tries++) {
      expect(tries, 'tenths of a second').to.be.below(100)
      await sleep(100)
    }
  })
})

/** It may have ended by itself. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
