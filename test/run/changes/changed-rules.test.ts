import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TrainOptions } from '../../../src/options/train-options.js'
import type { NamedRule } from '../../../src/rules/rules.js'
import type { Job } from '../../../src/run/job.js'
import type { RunPlace, SettingChange } from '../../../src/schedules/interventions.js'
import { refused } from '../../support/codes.js'
import { atRest, talkedTo, trainManyRounds } from '../support/talked-to.js'

interface Change {
  /** Rounds before it. */
  readonly after: number
  readonly change: SettingChange
  /** Iterations of a round from then on. */
  readonly period: number
}

interface RuleCase {
  readonly rule: NamedRule
  readonly learners?: number
  readonly changes: readonly Change[]
  readonly refuses?: readonly SettingChange[]
}

const AVERAGING: readonly SettingChange[] = [{ alpha: 0.2 }, { momentum: 0.5 }]

const periods = (...each: readonly number[]): readonly Change[] => each.map((period) => ({ after: 10, change: { period }, period }))

const RULES: readonly RuleCase[] = [
  { rule: { name: 'local-sgd', period: 4 }, changes: periods(2, 7) },
  { rule: { name: 'lookahead', period: 5 }, changes: periods(3, 8) },
  { rule: { name: 'slowmo', period: 4 }, changes: periods(2, 6) },
  { rule: { name: 'diloco', period: 6 }, changes: [...periods(3), { after: 10, change: { learningRate: { factor: 0.5 } }, period: 3 }] },
  {
    // Its period begins with the 101st epoch, in iteration 6250, before which the first change has to come; what is changed before holds from there.
    rule: { name: 'post-local-sgd', period: 4, startEpoch: 100 },
    changes: [
      { after: 10, change: { period: 3 }, period: 1 },
      { after: 6300, change: {}, period: 3 },
      { after: 10, change: { period: 5 }, period: 5 }
    ]
  },
  // More learners than one make it depend on timing. One waits for nobody, and its steps are short.
  { rule: { name: 'hogwild' }, learners: 1, changes: periods(3, 2) },
  {
    rule: { name: 'ssgd' },
    changes: [
      { after: 10, change: { learningRate: 0.01 }, period: 1 },
      { after: 10, change: { learningRate: { factor: 2 } }, period: 1 }
    ],
    refuses: [...AVERAGING, { period: 2 }]
  }
]

describe('a rule that a program changes', () => {
  let folder: string
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'arbalest-rule-'))))
  afterEach(() => rmSync(folder, { recursive: true }))

  for (const { rule, learners = 2, changes, refuses = AVERAGING } of RULES)
    it(`is changed from the next round on, repeated and resumed bit for bit: ${rule.name}`, async () => {
      const optimiser = { learningRate: 0.05, milestones: [] }
      const options = { synchroniser: rule, learners, optimiser }
      let saved = ''
      const finished = await talkedTo({ ...options, checkpoint: { dir: folder } }, async (job) => {
        const { synchroniser, checkpoints } = job.actors
        for (const { after, change, period } of changes) {
          await atRest(job, after, async () => {
            for (const wrong of refuses) await refused('INVALID_OPTION', () => synchroniser.ask.set(wrong))
            const { iteration } = await synchroniser.ask.set(change)
            expect((await synchroniser.ask.status()).iterations).to.equal(iteration)
            saved = await checkpoints.ask.save()
          })
          expect(await iterationsOfARound(job), JSON.stringify(change)).to.equal(period)
        }
      })
      const { iterations, interventions, weightsSha256 } = finished
      const again = async (from: Partial<TrainOptions>) =>
        (await trainManyRounds({ ...options, until: { steps: iterations }, ...from })).finished
      expect(await again({ interventions: interventions! })).to.include({ iterations, weightsSha256 })
      expect(await again({ checkpoint: { dir: folder, resume: saved } })).to.include({ iterations, weightsSha256 })
    })
})

/** Between two rests. */
async function iterationsOfARound(job: Job): Promise<number> {
  const { synchroniser } = job.actors
  const rests: RunPlace[] = []
  for (let i = 0; i < 2; i++) await atRest(job, 1, async () => rests.push(await synchroniser.ask.pause()))
  return (rests[1]!.iteration - rests[0]!.iteration) / (rests[1]!.round - rests[0]!.round)
}
