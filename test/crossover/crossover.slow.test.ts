import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { crossover, train, type TrainOptions } from '../../src/index.js'
import { dyingInTurn } from './support/dying-in-turn.js'

const CLI = fileURLToPath(new URL('../../../bin/arbalest.js', import.meta.url))
const RULES = ['ssgd', 'sma', 'local-sgd'] as const
const job = (synchroniser: (typeof RULES)[number], more: Partial<TrainOptions> = {}): TrainOptions => ({
  model: 'mlp',
  data: 'digits',
  batch: 8,
  learners: 2,
  until: { steps: 160 },
  seed: 5,
  evaluateEvery: 1000,
  hosts: 'loopback',
  link: '1Gbit',
  synchroniser,
  ...more
})

describe('crossover, whatever the policy', () => {
  for (const backend of ['cpu', 'cuda-host'])
    for (const policy of ['crossed', 'shared', 'sequential', 'auto'] as const)
      it(`gives jobs the weights that they have alone, bit for bit: ${policy} on ${backend}`, async () => {
        const jobs = RULES.map((rule) =>
          job(rule, { until: { steps: backend !== 'cpu' ? 16 : policy === 'auto' ? 160 : 60 }, backend: backend as 'cpu' })
        )
        const { jobs: ends } = await crossover(jobs, { policy }).finished
        for (const [i, each] of jobs.entries())
          expect(ends[i]!.weightsSha256, RULES[i]).to.equal((await train(each).finished).weightsSha256)
      })

  for (const rule of RULES)
    for (const backend of ['cpu', 'cuda-host'] as const)
      for (const learners of [1, 2])
        for (const how of ['throw', 'exit'] as const)
          it(`goes on where a learner dies by ${how} while it has the device: ${rule}, ${learners} on ${backend}`, () =>
            dyingInTurn({ rule, backend, learners, how }))

  it('ends with the same weights after kill -9 of the pair, and resuming', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-crossover-'))
    const options = (rule: (typeof RULES)[number]) =>
      job(rule, { until: { steps: 400 }, checkpoint: { dir: join(folder, rule), period: 40 } })
    const pair = (['ssgd', 'sma'] as const).map(options)
    const files = pair.map((each, i) => {
      const file = join(folder, `${i}.config.mjs`)
      writeFileSync(file, `export default ${JSON.stringify(each)}`)
      return file
    })
    const child = spawn(process.execPath, [CLI, 'crossover', ...files, '--policy', 'crossed', '--json'], { stdio: 'ignore' })
    const saved = (rule: string) => {
      try {
        return readdirSync(join(folder, rule)).filter((name) => name.startsWith('checkpoint')).length
      } catch {
        return 0
      }
    }
    while (saved('ssgd') < 2 || saved('sma') < 2) {
      expect(child.exitCode, 'the pair has ended too early').to.equal(null)
      await sleep(20)
    }
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('exit', resolve))
    const resumed = crossover(pair, { policy: 'crossed' })
    const seen = new Set<number>()
    for await (const event of resumed) if (event.event === 'resumed') seen.add(event.job)
    expect([...seen].toSorted((a, b) => a - b)).to.deep.equal([0, 1])
    const { jobs } = await resumed.finished
    for (const [i, each] of pair.entries()) {
      const { checkpoint: _, ...alone } = each
      expect(jobs[i]!.weightsSha256).to.equal((await train(alone).finished).weightsSha256)
    }
    rmSync(folder, { recursive: true })
  })
})
