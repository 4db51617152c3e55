import { execFileSync } from 'node:child_process'
import { thrown } from '../../support/thrown.js'
import { MovingStep } from './moving-step.js'

/** The most bytes that this process may write to a file from now on. */
const limitFiles = (most: number | 'unlimited'): unknown =>
  execFileSync('prlimit', [`--pid=${process.pid}`, `--fsize=${most}:unlimited`], { encoding: 'utf8' })

/** The error of a call whose moved values could not be written, and the losses of calls around it, beside those of a replica without one. */
export function lossesAfterFailedStep(folder: string): { code: string; losses: number[]; expected: number[] } {
  const step = new MovingStep()
  const [failing, sound] = [step.replica({ tier: { folder } }), step.replica({ tier: { folder } })]
  const losses = [failing.loss(0)]
  limitFiles(4096)
  const { code } = thrown(() => failing.loss(1))
  limitFiles('unlimited')
  losses.push(failing.loss(1), failing.loss(2))
  return { code, losses, expected: [0, 1, 2].map(sound.loss) }
}
