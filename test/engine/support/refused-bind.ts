import type { Program } from '../../../src/compiler/program.js'
import { engine } from '../../../src/engine/native.js'
import { thrown } from '../../support/thrown.js'
import { MovingStep } from './moving-step.js'

const tier = { timing: 'latest' } as const

/** Of which memory the second program wants more than there is. */
export type Wanted = 'activations' | 'staged'

/** The error of a second program's bind, and the losses of the first one before and after it, beside those of a replica that has bound no other. */
export function lossesAfterRefusedBind(wanted: Wanted, shares: boolean): { code: string; losses: number[]; expected: number[] } {
  const step = new MovingStep()
  const { program, dataset } = step
  const { activations, staged } = program.arenas
  const arenas = shares && { arenas: engine.createArenas({ backend: program.backend, sizes: [activations], staged, tier }) }
  const { replica, loss } = step.replica({ tier, ...arenas })
  const alone = step.replica({ tier })
  const [before, expectedBefore] = [loss(0), alone.loss(0)]
  const large: Program = { ...program, arenas: { ...program.arenas, [wanted]: 2 ** 48 } }
  const { code } = thrown(() => engine.bind(replica, engine.createProgram(large), dataset))
  return { code, losses: [before, loss(1), loss(2)], expected: [expectedBefore, alone.loss(1), alone.loss(2)] }
}
