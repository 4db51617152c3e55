import type { RunState } from '../../../src/checkpoints/run-state.js'
import type { EvaluatedEvent } from '../../../src/observe/events.js'

/** The state of a run whose model was measured at this iteration, if figures are given; `unplanned`: because the run was stopped there. */
export function stateAt(iteration: number, measured?: Partial<EvaluatedEvent>, unplanned?: true): RunState {
  const event: EvaluatedEvent = { event: 'evaluated', iteration, epoch: 1, testLoss: 1, testAccuracy: 0.5, seconds: 0.1, ...measured }
  return {
    identity: {},
    round: iteration,
    iteration,
    position: iteration * 32,
    seconds: 1,
    population: [{ round: 0, learners: 1 }],
    cuts: [],
    learningRateScale: 1,
    learners: [0],
    measurements: measured ? [{ event, seconds: 1, ...(unplanned && { unplanned }) }] : []
  }
}
