import { openDataset, train, type Dataset, type JobEvent } from '../arbalest.js'
import { OtherWork } from './other-work.js'
import type { Pace, PaceRequest, Paces, PaceSpec } from './pace.js'
import { ruleOptions } from './rules.js'

/** Turns of each method. */
const ROUNDS = 7
/** The length of a turn, and of its beginning that is not counted because caches and clocks are not warm, in seconds of training. */
const TURN = 3
const WARM = 0.6
/** More epochs than a turn has time for. */
const MOST_EPOCHS = 1000

/** Seconds per epoch in one turn. */
async function turn(
  { model, weightDecay, precision }: PaceRequest,
  { rule, learners, batch, tuning }: PaceSpec,
  data: Dataset
): Promise<number> {
  const job = train({
    model,
    data,
    learners,
    batch,
    precision,
    // The speed does not depend on it, and a low one cannot diverge.
    optimiser: { learningRate: 1e-4, momentum: tuning.momentum, weightDecay },
    synchroniser: ruleOptions(rule, tuning),
    until: { seconds: TURN, epochs: MOST_EPOCHS },
    evaluateEvery: MOST_EPOCHS
  })
  const marks: { readonly epoch: number; readonly seconds: number }[] = []
  for await (const event of job as AsyncIterable<JobEvent>) {
    if (event.event === 'progress' && event.seconds >= WARM) marks.push({ epoch: event.epoch, seconds: event.seconds })
  }
  const [first, last] = [marks[0]!, marks.at(-1)!]
  return (last.seconds - first.seconds) / (last.epoch - first.epoch)
}

async function measured(request: PaceRequest): Promise<Pick<Paces, 'paces' | 'otherWork'>> {
  const data = await openDataset(request.data)
  // Generates the kernels before the measurement.
  for (const spec of request.specs) await turn(request, spec, data)
  const rounds = request.specs.map((): number[] => [])
  const others = new OtherWork()
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, spec] of request.specs.entries()) rounds[i]!.push(Number((await turn(request, spec, data)).toPrecision(6)))
  }
  const paces = request.specs.map(({ rule, learners, batch }, i): Pace => ({ rule, learners, batch, secondsAnEpoch: rounds[i]! }))
  return { paces, otherWork: Number(others.cores().toFixed(3)) }
}

process.stdout.write(`${JSON.stringify(await measured(JSON.parse(process.argv[2]!) as PaceRequest))}\n`)
