import type { DashboardSource } from '../../../src/dashboard/dashboard.js'
import { RunBoard, type RunLook } from '../../../src/dashboard/run-board.js'
import type { FinishedEvent, ProgressEvent, StartedEvent } from '../../../src/observe/events.js'

export const BEGAN = 1_000_000

/** A run without a log and without actors. */
export function newBoard(id = 'run 1', { isLive = true } = {}): RunBoard {
  return new RunBoard(id, { name: 'lenet on digits', began: BEGAN, isLive })
}

export function sourceOf(...boards: readonly RunBoard[]): DashboardSource {
  return { boards, look: async () => {} }
}

export function startedWith(learners: number): StartedEvent {
  return {
    event: 'started',
    model: 'lenet',
    data: 'digits',
    learners,
    batch: 16,
    precision: 'f32',
    synchroniser: 'sma',
    seed: 1,
    parameters: 431_080,
    samples: 20_000,
    iterations: 1_000,
    bytesPerLearner: 7_000_000,
    bytesShared: 36_000_000
  }
}

export function progressAt(iteration: number, loss = 1 / (1 + iteration)): ProgressEvent {
  return {
    event: 'progress',
    iteration,
    iterations: 1_000,
    epoch: iteration / 100,
    loss,
    learningRate: 0.1,
    imagesPerSecond: 1_000,
    learners: 2,
    dataWait: 0,
    seconds: iteration / 10
  }
}

export const FINISHED = { event: 'finished', reason: 'completed', weightsSha256: '0'.repeat(64), iterations: 1_000 } as FinishedEvent

const RULE = {
  kind: 'synchronous',
  central: { kind: 'sma', alpha: null, momentum: 0.9 },
  adopts: false,
  period: 2,
  from: 0
} as const satisfies RunLook['status']['rule']

/** What the actors of a run tell, with a learner in each place. */
export function look({
  learners = 2,
  round = 5,
  rounds = []
}: { learners?: number; round?: number; rounds?: RunLook['rounds'] } = {}): RunLook {
  const all = Array.from({ length: learners }, (_, at) => at)
  const place = (at: number) => ({ place: at, learner: at, state: 'training' as const, steps: 3, deaths: 0, lastDeath: null })
  return {
    status: {
      round,
      iterations: 10,
      position: 0,
      members: all,
      arrived: [],
      notFiniteAt: -1,
      paused: false,
      learningRate: 0.1,
      rule: RULE
    },
    population: { learners, places: all.map(place) },
    rounds,
    resident: 1e8,
    heap: 1e7
  }
}
