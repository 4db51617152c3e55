import type { TrainOptions } from '../../../src/training/options.js'
import { settingsOf } from '../../../src/training/settings.js'
import type { Choice } from '../support/choice.js'
import { harmed, junk } from '../support/junk.js'

const GIVEN: readonly unknown[] = [
  {
    model: 'lenet',
    data: 'digits',
    batch: 16,
    learners: 2,
    optimiser: { rate: 0.02, momentum: 0.9, weightDecay: 1e-4, decay: { at: [2, 4], factor: 0.1 }, warmup: { epochs: 1 } },
    until: { epochs: 4, accuracy: 0.9, seconds: 10, steps: 100 },
    synchroniser: { type: 'sma', period: 2, momentum: 0.5 },
    average: { kind: 'ema', decay: 0.99 },
    checkpoint: { dir: 'there', every: 10, keep: 2 },
    supervision: { restarts: 2, within: 1000 },
    trace: 'trace.json',
    watch: { patience: 2 },
    precision: 'f32',
    backend: 'cpu',
    seed: 1
  },
  { model: 'mlp', data: 'digits', learners: 'auto', synchroniser: 'ssgd', optimiser: { type: 'adam', rate: 1e-3 } },
  { model: 'resnet32', data: 'cifar10', learners: [{ at: 0, learners: 1 }], initial: 'weights.safetensors', freeze: ['conv1'] }
]

/** Options of a run are settings, or refused. */
export function settingsTarget(): (choice: Choice) => void {
  return (choice) => {
    const given = choice.happens(0.1) ? junk(choice, 3) : harmed(choice.among(GIVEN), choice)
    settingsOf(given as TrainOptions)
  }
}
