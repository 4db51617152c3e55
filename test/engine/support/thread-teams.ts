import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import type { EngineBackend } from '../../../src/compiler/program.js'
import { engine } from '../../../src/engine/native.js'
import type { ArbalestError } from '../../../src/errors.js'
import { defineModel, linear } from '../../../src/model/layers.js'
import { sma } from '../../../src/rules/sma.js'
import { BoundOperator } from './bound-operator.js'
import { GroupRun } from './group-run.js'
import { activation, drawn, wide, type OperatorCase } from './operator-case.js'
import { randomSamples, smallTraining } from './small-training.js'

/** For processes of their own: a thread keeps the threads that it has been given. */

/** How many threads a pass over a model starts in a thread that has been given none. */
export function startedByPass(): number {
  const model = defineModel({ name: 'wide', input: [12], layers: [linear(10_000), linear(5)] })
  const { program, initial } = smallTraining('cpu', {}, { model })
  const { group } = new GroupRun(program, randomSamples(8), { initial, rule: sma({}, { learners: 1 }) })
  const threads = (): number => readdirSync('/proc/self/task').length
  const before = threads()
  engine.isFinite(group)
  return threads() - before
}

/** How an operator for two threads is refused where the system allows no further thread. */
export function refusalOfTeam(): Refusal | undefined {
  forbidThreads()
  return refusal('cpu', 2)
}

/** How one is refused whose stream has a thread of its own. */
export function refusalOfStream(): Refusal | undefined {
  forbidThreads()
  return refusal('cuda-host', 1)
}

/** How an operator for two threads is refused where OpenMP may start one. */
export function refusalOfLimit(): Refusal | undefined {
  // OpenMP reads its variables when the first operator loads its library.
  process.env['OMP_THREAD_LIMIT'] = '1'
  return refusal('cpu', 2)
}

/** How many numbers of a product differ, shared by two threads and computed by one, where a variable of OpenMP has this value. */
export function changedBySharing(variable: string, value: string): number {
  process.env[variable] = value
  const factor = activation(64, 64)
  const use: OperatorCase = {
    kind: 'matmul',
    name: 'product',
    attributes: { transposeA: 0, transposeB: 0 },
    inputs: { a: factor, b: factor },
    outputs: { y: factor }
  }
  const values = drawn(use.inputs, 'f32', 1)
  const [alone, shared] = [1, 2].map((threads) => {
    const bound = new BoundOperator('cpu', 'f32', use, { threads })
    try {
      return bound.run(values).outputs['y']!
    } finally {
      bound.release()
    }
  })
  return alone!.filter((number, i) => !Object.is(number, shared![i])).length
}

/** The threads that an operator has been given, and how many of them take a signal that ends the process: before it has run, and after. */
export function takersOfSignals(): { given: number; takers: number[] } {
  const others = new Set(readdirSync('/proc/self/task'))
  const given = (): string[] => readdirSync('/proc/self/task').filter((thread) => !others.has(thread))
  const takes = (thread: string): boolean => {
    const blocked = /^SigBlk:\t(.*)$/m.exec(readFileSync(`/proc/self/task/${thread}/status`, 'utf8'))![1]!
    return ((BigInt(`0x${blocked}`) >> BigInt(constants.signals.SIGTERM - 1)) & 1n) === 0n
  }
  // oneDNN computes it by fewer threads than there are: OpenMP ends the others, and starts new ones for what follows.
  const [x, w] = [activation(2, 16, 8, 8), wide(16, 16, 3, 3)]
  const attributes = { stride: [1, 1], padding: [1, 1], dilation: [1, 1], groups: 1, relu: 0 }
  const use: OperatorCase = { kind: 'conv2d', name: 'convolution', attributes, inputs: { x, w, b: null }, outputs: { y: x } }
  const bound = new BoundOperator('cpu', 'f32', use, { threads: 5 })
  const takers = [given().filter(takes).length]
  bound.run(drawn(use.inputs, 'f32', 1))
  takers.push(given().filter(takes).length)
  bound.release()
  return { given: given().length, takers }
}

type Refusal = Pick<ArbalestError, 'code' | 'message'>

function forbidThreads(): void {
  spawnSync('prlimit', ['--pid', String(process.pid), '--nproc=1'])
  // The limit does not hold for root.
  if (process.getuid?.() === 0) process.setuid!(65534)
}

function refusal(backend: EngineBackend, threads: number): Refusal | undefined {
  const ports = { inputs: { x: activation(4, 16) }, outputs: { y: activation(4, 16) } }
  try {
    const bound = new BoundOperator(backend, 'f32', { kind: 'relu', name: 'relu', attributes: {}, ...ports }, { threads })
    bound.release()
    return undefined
  } catch (error) {
    const { code, message } = error as ArbalestError
    return { code, message }
  }
}
