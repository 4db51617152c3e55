import { Synchroniser } from '../../src/actors/synchroniser.js'

/** How often the pause was moved on while learners trained, in this thread. */
export const moved = { count: 0 }

class MovingSynchroniser extends Synchroniser {
  override extendPause(round: number): boolean {
    const isMoved = super.extendPause(round)
    if (isMoved) moved.count++
    return isMoved
  }
}

export { MovingSynchroniser as Synchroniser }
