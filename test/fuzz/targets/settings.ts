import { fileURLToPath } from 'node:url'
import type { TrainOptions } from '../../../src/options/train-options.js'
import { settingsOf } from '../../../src/options/settings.js'
import type { Choice } from '../support/choice.js'
import { harmed, junk } from '../support/junk.js'

/** A file that is there, which is all that is asked of it here. */
const HERE = fileURLToPath(import.meta.url)

/** Every option at least once, each as it may be. */
const GIVEN: readonly unknown[] = [
  {
    model: 'lenet',
    data: 'digits',
    batch: 16,
    learners: 2,
    threads: 1,
    optimiser: {
      name: 'sgd',
      learningRate: 0.02,
      momentum: 0.9,
      weightDecay: 1e-4,
      nesterov: true,
      milestones: [2, 4],
      decay: 0.1,
      warmup: { epochs: 1 }
    },
    synchroniser: { name: 'sma', period: 2, syncMomentum: 0.5 },
    average: { name: 'ema', decay: 0.99 },
    until: { epochs: 4, accuracy: 0.9, seconds: 10, steps: 100, patience: 2, minDelta: 0.01, watch: 'loss' },
    labelSmoothing: 0.1,
    topK: 3,
    checkpoint: { dir: 'there', period: 10, keep: 2, resume: 'never' },
    supervision: { restarts: 2, window: 1000, deadline: 5000 },
    trace: { file: 'trace.json', steps: 3 },
    onNaN: { learningRateFactor: 0.5, retries: 2 },
    evaluateEvery: 0.5,
    keep: 'best',
    log: 'run.jsonl',
    precision: 'f32',
    backend: 'cpu',
    seed: 1
  },
  {
    model: 'mlp',
    data: 'mnist',
    dataDir: 'there',
    learners: { initial: 1, max: 4, threshold: 0.1, window: 0.2 },
    synchroniser: 'ssgd',
    optimiser: {
      name: 'adamw',
      learningRate: { kind: 'cosine', learningRate: 1e-3 },
      beta1: 0.8,
      beta2: 0.99,
      epsilon: 1e-7,
      clipNorm: 1,
      clipValue: 0.5,
      accumulate: 2
    },
    average: { name: 'lawa', window: 3, startEpoch: 1, period: 1 },
    until: { steps: 10 },
    overfit: 2,
    dryRun: true,
    logDir: 'logs',
    tensorboard: 'curves',
    checkpoint: 'there',
    precision: 'bf16'
  },
  {
    model: 'resnet20',
    data: 'cifar-10',
    learners: {
      schedule: [
        { round: 0, learners: 1 },
        { round: 4, learners: 2 }
      ]
    },
    optimiser: { name: 'lars', trust: 0.001, schedule: 'cosine' },
    synchroniser: { name: 'easgd' },
    average: 'swa',
    initialWeights: { file: HERE, names: { a: 'conv1.weight' }, reinitialise: ['fc'], strict: false },
    freeze: ['conv1', 'layer1.*.weight'],
    learner: HERE,
    learnerOptions: { temperature: 2 },
    until: { loss: 0.1, epochs: 2 }
  },
  { model: 'gpt', data: 'tinyshakespeare', context: 64, optimiser: 'adam', learners: 'auto', trace: 'trace.json', average: 'ema' },
  {
    model: {
      name: 'own',
      input: [3, 8, 8],
      layers: [{ kind: 'conv2d', features: 4, kernel: 3 }, { kind: 'flatten' }, { kind: 'linear', features: 2 }],
      loss: 'softmaxCrossEntropy'
    },
    data: '.',
    images: {
      size: 8,
      crop: { scale: [0.5, 1], ratio: [1, 1] },
      flip: false,
      colour: { hue: 0.1 },
      testFraction: 0.2,
      onBadImage: 'skip',
      ahead: 2
    },
    synchroniser: { name: 'lookahead', period: 5, outerLearningRate: 0.5 }
  }
]

/** Options of a run are settings, or refused. */
export function settingsTarget(): (choice: Choice) => void {
  return (choice) => {
    const given = choice.happens(0.1) ? junk(choice, 3) : harmed(choice.among(GIVEN), choice)
    settingsOf(given as TrainOptions)
  }
}
