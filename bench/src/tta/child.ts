import { ArbalestError, openDataset, train, type Dataset, type TrainOptions } from '../arbalest.js'
import type { Outcome, Point, RunSpec } from './run.js'
import { OtherWork } from './other-work.js'
import { reachedAt } from './target.js'

/** Steps that are taken before anything is timed: kernels are generated, caches and clocks are warm. */
const WARM_STEPS = 60

function optionsOf(spec: RunSpec, data: Dataset): TrainOptions {
  const { model, learners, batch, tuning, weightDecay, drops, evaluateEvery, rule, seed } = spec
  const { rate, momentum, syncMomentum } = tuning
  return {
    model,
    data,
    learners,
    batch,
    seed,
    evaluateEvery,
    optimiser: { rate, momentum, weightDecay, milestones: drops },
    synchroniser: rule === 'sma' ? { name: rule, syncMomentum } : rule
  }
}

/** Trains until the target is reached, or to the last epoch. */
async function outcomeOf(spec: RunSpec): Promise<Outcome> {
  const data = await openDataset(spec.data)
  const options = optionsOf(spec, data)
  const points: Point[] = []
  let seconds = 0
  try {
    await train({ ...options, optimiser: { ...(options.optimiser as object), rate: 1e-4 }, until: { steps: WARM_STEPS } }).finished
    const others = new OtherWork()
    const job = train({
      ...options,
      until: { epochs: spec.epochs },
      onEvaluated: ({ epoch, testAccuracy }) => {
        points.push({ epoch: rounded(epoch), seconds: rounded(seconds), accuracy: testAccuracy! })
        return reachedAt(points, spec.target) ? 'stop' : undefined
      }
    })
    // The last progress before an evaluation is told when the learners rest: by then they have trained so long.
    job.on('progress', (event) => (seconds = event.seconds))
    const { imagesPerSecond } = await job.finished
    const end = reachedAt(points, spec.target) ? 'reached' : 'notReached'
    return { end, points, imagesPerSecond: rounded(imagesPerSecond), otherWork: rounded(others.cores()) }
  } catch (error) {
    if (!(error instanceof ArbalestError) || error.code !== 'LOSS_NOT_FINITE') throw error
    return { end: 'diverged', points, imagesPerSecond: 0, otherWork: 0 }
  }
}

const rounded = (value: number): number => Number(value.toFixed(4))

process.stdout.write(`${JSON.stringify(await outcomeOf(JSON.parse(process.argv[2]!) as RunSpec))}\n`)
