import type { GroupSchedule } from '../../src/actors/group-control.js'
import { Synchroniser } from '../../src/actors/synchroniser.js'

/** Trains with a tenth of the learning rates that the run asks for. */
export class Synchroniser10 extends Synchroniser {
  override follow({ learningRates, ...schedule }: GroupSchedule): void {
    const rates = learningRates.map((piece) => ({ ...piece, rates: piece.rates.map((rate) => rate / 10) }))
    super.follow({ ...schedule, learningRates: rates })
  }
}

export { Synchroniser10 as Synchroniser }
