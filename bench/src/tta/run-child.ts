import { ArbalestError, openDataset, train } from '../arbalest.js'
import type { Outcome, Point, RunSpec } from './run.js'
import { ruleOptions } from './rules.js'
import { reachedAt } from './target.js'

/** Trains until the target is reached, the last epoch ends, or the run is given up. */
async function outcomeOf(spec: RunSpec, giveUpAt: number): Promise<Outcome> {
  const { model, learners, batch, tuning, weightDecay, precision, schedule, drops, epochs, evaluateEvery, rule, seed } = spec
  const { rate, momentum } = tuning
  const points: Point[] = []
  const reached = () => reachedAt(points, spec.target) !== undefined
  try {
    await train({
      model,
      data: await openDataset(spec.data),
      learners,
      batch,
      seed,
      precision,
      evaluateEvery,
      optimiser: { learningRate: rate, momentum, weightDecay, schedule, ...(schedule === 'multistep' && { milestones: drops }) },
      synchroniser: ruleOptions(rule, tuning),
      until: { epochs },
      onEvaluated: ({ epoch, testAccuracy }) => {
        points.push({ epoch: Number(epoch.toFixed(4)), accuracy: testAccuracy! })
        return reached() || epoch >= giveUpAt ? 'stop' : undefined
      }
    }).finished
    return { end: reached() ? 'reached' : giveUpAt < epochs ? 'givenUp' : 'notReached', points }
  } catch (error) {
    if (!(error instanceof ArbalestError) || error.code !== 'LOSS_NOT_FINITE') throw error
    return { end: 'diverged', points }
  }
}

const { run, giveUpAt } = JSON.parse(process.argv[2]!) as { readonly run: RunSpec; readonly giveUpAt: number }
process.stdout.write(`${JSON.stringify(await outcomeOf(run, giveUpAt))}\n`)
