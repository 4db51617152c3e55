import { spawnSync } from 'node:child_process'
import type { ArbalestError } from '../../../src/errors.js'
import { BoundOperator } from './bound-operator.js'
import { activation } from './operator-case.js'

/** For processes of their own: a thread keeps the threads that it has been given. */

/** How an operator for two threads is refused where the system allows no further thread. */
export function refusalOfTeam(): Pick<ArbalestError, 'code' | 'message'> | undefined {
  spawnSync('prlimit', ['--pid', String(process.pid), '--nproc=1'])
  // The limit does not hold for root.
  if (process.getuid?.() === 0) process.setuid!(65534)
  const ports = { inputs: { x: activation(4, 16) }, outputs: { y: activation(4, 16) } }
  try {
    const bound = new BoundOperator('cpu', 'f32', { kind: 'relu', name: 'relu', attributes: {}, ...ports }, { threads: 2 })
    bound.release()
    return undefined
  } catch (error) {
    const { code, message } = error as ArbalestError
    return { code, message }
  }
}
