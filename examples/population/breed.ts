import { train, type Dataset, type Job } from 'arbalest'
import type PopulationLearner from './learner.js'

export interface Bred {
  /** The final test accuracy and learning rate of each member. */
  readonly members: readonly { readonly accuracy: number; readonly rate: number }[]
  /** Who took whose weights, generation by generation. */
  readonly takeovers: readonly { readonly loser: number; readonly winner: number; readonly rate: number }[]
}

interface Member {
  readonly job: Job
  rate: number
}

/**
 * Population-based training: each member is a run with a learning rate of its own. After each generation the worst member takes the weights of the best
 * one (exploit) and a rate near its rate (explore), all by messages.
 *
 * After Jaderberg et al., "Population Based Training of Neural Networks", 2017.
 */
export async function breed(data: Dataset, rates: readonly number[], { generations = 4, rounds = 60, seed = 1 } = {}): Promise<Bred> {
  const population = rates.map((rate): Member => ({ rate, job: member(data, rate, seed) }))
  const takeovers: { loser: number; winner: number; rate: number }[] = []
  for (let generation = 1; ; generation++) {
    await Promise.all(population.map(({ job }) => restAfter(job, generation * rounds)))
    if (generation >= generations) break
    const measured = await Promise.all(population.map(({ job }) => job.actors.evaluator.ask.measure()))
    const ranked = [...measured.keys()].sort((a, b) => measured[a]!.testLoss - measured[b]!.testLoss)
    const [winner, loser] = [ranked[0]!, ranked.at(-1)!]
    const rate = population[winner]!.rate * (generation % 2 === 1 ? 1.25 : 0.8)
    await takeOver(population[loser]!, population[winner]!, rate)
    takeovers.push({ loser, winner, rate })
    for (const { job } of population) job.actors.synchroniser.tell.resume()
  }
  for (const { job } of population) job.stop()
  const ends = await Promise.all(population.map(({ job }) => job.finished))
  return { members: ends.map(({ testAccuracy }, i) => ({ accuracy: testAccuracy ?? 0, rate: population[i]!.rate })), takeovers }
}

/** A run that goes on until it is stopped: messages take their time, and one that ended by itself would take no more of them. */
function member(data: Dataset, learningRate: number, seed: number): Job {
  return train({
    model: 'mlp',
    data,
    batch: 16,
    learners: 1,
    optimiser: { learningRate, schedule: 'constant', momentum: 0 },
    until: { steps: 1e9 },
    evaluateEvery: 1e6,
    seed,
    learner: new URL('./learner.js', import.meta.url)
  })
}

/** Pauses a run once this many of its rounds are whole. */
async function restAfter({ actors: { synchroniser } }: Job, rounds: number): Promise<void> {
  for await (const { round } of synchroniser.rounds()) if (round + 1 >= rounds) break
  await synchroniser.ask.pause()
}

/** The loser's learners take the winner's central model, and its run another rate. */
async function takeOver(loser: Member, winner: Member, rate: number): Promise<void> {
  const { weights } = await winner.job.actors.synchroniser.ask.central()
  const vector = Float32Array.from(Object.values(weights).flatMap(({ data }) => [...data]))
  for (const learner of loser.job.actors.learners<PopulationLearner>()) await learner.ask.setWeights(vector)
  await loser.job.actors.synchroniser.ask.set({ learningRate: rate })
  loser.rate = rate
}
