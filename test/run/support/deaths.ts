import { expect } from 'chai'
import type { TrainOptions } from '../../../src/options/train-options.js'
import { train } from '../../../src/run/train.js'
import type { Intervention } from '../../../src/schedules/interventions.js'
import { manyRounds } from './talked-to.js'

const LEARNER = new URL('../../fakes/mortal-learner.js', import.meta.url)

/** Trains with learners that live so many steps on average, and again with what it has recorded: the weights must be equal. */
export async function expectDeathsRepeated(
  options: Partial<TrainOptions>,
  { steps, life }: { steps: number; life: number }
): Promise<void> {
  const immortal = { learner: LEARNER, learnerOptions: { life: null }, until: { steps }, supervision: { restarts: 10_000 } }
  const common = await manyRounds({ model: 'mlp', ...immortal, ...options })
  const { interventions = [], weightsSha256 } = await train({ ...common, learnerOptions: { life } }).finished
  expect(interventions.filter(({ kind }) => kind === 'death')).to.not.have.length(0)
  const rounds = interventions.map(({ round }) => round)
  expect(rounds).to.deep.equal(rounds.toSorted((a, b) => a - b))
  const repeated = await train({ ...common, interventions: throughJson(interventions) }).finished
  expect(repeated.weightsSha256).to.equal(weightsSha256)
  // Those that die in one round do so in any order, and a learner that joins after the last round changes nothing.
  expect(repeated.interventions).to.have.deep.members(interventions.filter(({ iteration }) => iteration < steps))
  expect((await train(common).finished).weightsSha256).to.not.equal(weightsSha256)
}

function throughJson(interventions: readonly Intervention[]): readonly Intervention[] {
  return JSON.parse(JSON.stringify(interventions)) as readonly Intervention[]
}
