import { ArbalestError } from '../errors.js'
import type { FinishedEvent } from '../observe/events.js'
import type { Settings } from '../options/settings.js'

/** Ends the preparation of a run that is stopped. */
export class StoppedEarly extends ArbalestError {
  constructor() {
    super('ABORTED', 'the run was stopped while it was being prepared')
  }
}

/** The end of a run that has neither trained nor measured anything. */
export function stoppedEvent({ learners, population }: Settings): FinishedEvent {
  return {
    event: 'finished',
    reason: 'stopped',
    keptIteration: 0,
    testAccuracy: null,
    testLoss: NaN,
    imagesPerSecond: 0,
    learners,
    population: population.schedule,
    epochs: 0,
    iterations: 0,
    seconds: 0,
    peakDeviceBytes: 0,
    weightsSha256: ''
  }
}
