import { train } from './arbalest.js'
import type { BenchOptions } from './bench.js'
import type { ExchangeOptions } from './exchange-rule.js'
import { trainingProgram } from './flops-per-image.js'
import { comparison, type Comparison } from './pairs.js'
import { median } from './statistics.js'

/** One line of `--json`: how long learners wait for an exchange over a link, beside one that pushes early and pulls the model whole. */
export interface StallResult extends Comparison {
  readonly bench: 'staleness'
  /** `resnet20 b16 x0.3 late bucket`: communication that takes 0.3 times the seconds of the computation, if nothing overlaps */
  readonly case: string
  readonly peer: 'early whole'
  /** Of waiting in an iteration, in the mean. `ratio` is ours to the peer's: below 1 if learners wait less. */
  readonly unit: 'seconds'
  /** Of the learner's time: the median of the runs. */
  readonly stallShare: number
  readonly peerStallShare: number
  readonly linkMbit: number
}

const MODELS = ['resnet20', 'vgg16']
const SHARES = [0.3, 1]
const PEER: ExchangeOptions = { push: 'early', pull: 'whole' }
const WAYS: readonly ExchangeOptions[] = [
  PEER,
  { push: 'early', pull: 'bucket' },
  { push: 'late', pull: 'whole' },
  { push: 'late', pull: 'bucket' }
]
const BATCH = 16
/** Of a run, the first of which are not counted: memory is touched there for the first time. */
const ROUNDS = 40
const WARM = 10

interface Stalls {
  /** Of an iteration, of which it waits for some. */
  readonly seconds: number
  readonly waited: number
}

/** What is taken of a round's figures. */
interface RoundOfRun {
  readonly round: number
  readonly seconds: number
  readonly members: readonly { readonly waited: number }[]
}

/** Communication beside computation, from a link of whose rate the computation decides: the machine is as fast as it is. */
export async function exchangeStalls(
  words: readonly string[],
  { pairs }: BenchOptions,
  found: (result: StallResult) => void
): Promise<readonly StallResult[]> {
  const models = words.filter((word) => MODELS.includes(word))
  const results: StallResult[] = []
  for (const model of models.length > 0 ? models : MODELS.slice(0, 1)) {
    const bytes = trainingProgram(model, BATCH, 'f32').parameters.bytes
    const alone = await stalls(model, PEER)
    for (const share of SHARES) {
      const linkMbit = (8e-6 * bytes) / (share * (alone.seconds - alone.waited))
      const measured = new Map(WAYS.map((way) => [way, [] as Stalls[]]))
      for (let pair = 0; pair < pairs; pair++) for (const way of WAYS) measured.get(way)!.push(await stalls(model, way, linkMbit))
      for (const way of WAYS.slice(1)) {
        const result = compared(`${model} b${BATCH} x${share} ${way.push} ${way.pull}`, measured.get(way)!, measured.get(PEER)!, linkMbit)
        results.push(result)
        found(result)
      }
    }
  }
  return results
}

export const isModelOfStalls = (word: string): boolean => MODELS.includes(word)

function compared(name: string, ours: readonly Stalls[], peers: readonly Stalls[], linkMbit: number): StallResult {
  const waits = (each: readonly Stalls[]) => each.map(({ waited }) => waited)
  const share = (each: readonly Stalls[]) => median(each.map(({ waited, seconds }) => waited / seconds))
  return {
    bench: 'staleness',
    case: name,
    peer: 'early whole',
    unit: 'seconds',
    ...comparison(waits(ours), waits(peers)),
    stallShare: share(ours),
    peerStallShare: share(peers),
    linkMbit
  }
}

/** One learner, whose gradients come back over a link as if another host had added its own. */
async function stalls(model: string, exchange: ExchangeOptions, linkMbit?: number): Promise<Stalls> {
  const job = train({
    model,
    data: 'digits',
    batch: BATCH,
    learners: 1,
    hosts: 'loopback',
    ...(linkMbit !== undefined && { link: `${linkMbit.toFixed(3)}Mbit` }),
    synchroniser: { module: new URL('./exchange-rule.js', import.meta.url), options: exchange },
    until: { steps: ROUNDS },
    seed: 1
  })
  const rounds: RoundOfRun[] = []
  for await (const round of job.actors.synchroniser.rounds()) if (round.round >= WARM) rounds.push(round)
  await job.finished
  const waited = rounds.reduce((sum, { members }) => sum + members.reduce((each, member) => each + member.waited, 0), 0)
  const [first, last] = [rounds[0]!, rounds.at(-1)!]
  return { seconds: (last.seconds - first.seconds) / (last.round - first.round), waited: waited / rounds.length }
}
