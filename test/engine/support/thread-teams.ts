import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import type { EngineBackend } from '../../../src/compiler/program.js'
import { engine } from '../../../src/engine/native.js'
import type { ArbalestError } from '../../../src/errors.js'
import { defineModel, linear } from '../../../src/model/layers.js'
import { sma } from '../../../src/rules/sma.js'
import { BoundOperator } from './bound-operator.js'
import { GroupRun } from './group-run.js'
import { activation } from './operator-case.js'
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
  return refusal('cpu', 2)
}

/** How one is refused whose stream has a thread of its own. */
export function refusalOfStream(): Refusal | undefined {
  return refusal('cuda-host', 1)
}

type Refusal = Pick<ArbalestError, 'code' | 'message'>

function refusal(backend: EngineBackend, threads: number): Refusal | undefined {
  spawnSync('prlimit', ['--pid', String(process.pid), '--nproc=1'])
  // The limit does not hold for root.
  if (process.getuid?.() === 0) process.setuid!(65534)
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
