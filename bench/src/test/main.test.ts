import { expect } from 'chai'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { skip } from '../../../dist/test/support/skip.js'

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url))

/** The processes that a process has started. */
function childrenOf(pid: number): readonly string[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return text === '' ? [] : text.split(' ')
}

/** Whether it is there and not only waits to be reaped. */
function isAlive(pid: string): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

describe('npm run bench', function () {
  this.timeout(60_000)

  for (const [signal, code] of [
    ['SIGHUP', 129],
    ['SIGQUIT', 131]
  ] as const)
    it(`stops what it has started, and exits, on ${signal}`, async function () {
      if (!existsSync(`/proc/self/task/${process.pid}/children`)) skip(this, 'the kernel does not list the children of a process')
      const folder = await mkdtemp(join(tmpdir(), 'arbalest-bench-'))
      const bench = spawn(process.execPath, [MAIN, 'tta', 'digits', '--out', folder], { stdio: 'ignore' })
      try {
        const ended = once(bench, 'exit')
        let started: readonly string[] = []
        while (started.length === 0) {
          await sleep(20)
          started = childrenOf(bench.pid!)
        }
        bench.kill(signal)
        expect(await ended).to.deep.equal([code, null])
        for (let tries = 0; tries < 100 && started.some(isAlive); tries++) await sleep(20)
        expect(started.filter(isAlive)).to.deep.equal([])
      } finally {
        bench.kill('SIGKILL')
        await rm(folder, { recursive: true, force: true })
      }
    })

  it('refuses an option that the bench does not take, before it measures', () => {
    const run = (...args: readonly string[]) => spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', timeout: 20_000 })
    const { status, stderr } = run('throughput', 'lenet', '--budget', '5')
    expect(stderr).to.match(/^INVALID_OPTION: --budget: received "5"; throughput takes only --json, --pairs, .*--profile\n$/)
    expect(status).to.equal(2)
    expect(run('tta', '--profile').stderr).to.match(/^INVALID_OPTION: --profile: /)
    expect(run('throughput', 'lenet', '--profile', '--save', 'x').stderr).to.match(
      /^INVALID_OPTION: --save: received "x"; throughput --profile takes only --json, --profile, --seconds\n$/
    )
  })

  it('refuses words by which nothing would be measured, or that fail only after other cases', () => {
    const run = (...args: readonly string[]) =>
      spawnSync(process.execPath, [MAIN, ...args], {
        encoding: 'utf8',
        timeout: 20_000,
        env: { ...process.env, ARBALEST_DATA: '/nowhere' }
      })
    for (const [args, told] of [
      [
        ['throughput', 'mlp', 'lenet', 'b8', 'f32', '--peers', 'tfjs', '--pairs', '1'],
        /^INVALID_OPTION: --peers: received "tfjs"; none of them trains lenet b8 k2 f32/
      ],
      [['actors', 'tell', 'comlink'], /^INVALID_OPTION: filter: received "tell comlink"; only postMessage, nact can do that\n$/],
      [['memory', 'geeps'], /^INVALID_OPTION: geeps: received no folder; /],
      [['memory', 'pytorch-saved-tensors', 'move'], /^INVALID_OPTION: pytorch-saved-tensors, move: received no folder; /],
      [['memory', 'cpu-time', 'pytorch-checkpoint'], /^INVALID_OPTION: cpu-time: received with pytorch-checkpoint; /],
      [['crossover', 'resnet20+lenet', 'lenet+resnet21'], /^UNKNOWN_NAME: model: received "resnet21"; /],
      [['crossover'], /^DATA_NOT_FOUND: tinyshakespeare: /],
      [['hosts', 'steps', 'resnet20'], /^(DATA_NOT_FOUND: cifar-10: |steps: left out: )/]
    ] as const) {
      const { stdout, stderr } = run(...args)
      expect(stderr, args.join(' ')).to.match(told)
      // At most the head of a table.
      expect(stdout.split('\n'), args.join(' ')).to.have.lengthOf.at.most(2)
    }
  })
})
