import type { Engine, RunReport } from '../../src/engine/contract.js'

/** The calls since the list was emptied, in words. */
export const calls: string[] = []

const STEPS_A_CALL = 3

/** Records the calls of an evaluation. Runs at most three steps a call, each with a loss of 2 and 5 right answers. */
export const engine = {
  bind: (replica, program, dataset) => (calls.push(`bind ${program} to ${replica} over ${dataset}`), program * 10),
  adopt: (replica, group) => (calls.push(`${replica} adopts ${group}`), 0),
  writeValue: (_replica, slot, name, data) => void calls.push(`write ${name} = [${[...data].join(' ')}] in ${slot}`),
  release: (handle) => void calls.push(`release ${handle}`),
  run(_replica, slot, limits): RunReport {
    const steps = Math.min(STEPS_A_CALL, limits.steps)
    calls.push(`run ${slot}: ${steps} from ${limits.position}`)
    return { outcome: 'ran', steps, lossSum: 2 * steps, correctSum: 5 * steps, busySeconds: 0, waitSeconds: 0, dataSeconds: 0 }
  }
} satisfies Partial<Engine> as Partial<Engine> as Engine
