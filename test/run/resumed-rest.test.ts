import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Job } from '../../src/run/job.js'
import { train } from '../../src/run/train.js'
import { atRest, manyRounds } from './support/talked-to.js'

const WARM_LEARNER = new URL('../fakes/warm-learner.js', import.meta.url)

type Step = (job: Job) => Promise<unknown>

const save: Step = ({ actors }) => actors.checkpoints.ask.save()
const replace: Step = ({ actors }) => actors.supervisor.ask.replace(0)
const warm: Step = ({ actors }) => actors.learner<{ warm(by: number): number }>(0).ask.warm(1.5)
const resize: Step = ({ actors }) => actors.supervisor.ask.resize(1)

/** What is asked for in one rest, in this order. */
const RESTS: Readonly<Record<string, readonly Step[]>> = {
  'a message, then the checkpoint': [warm, save],
  'the checkpoint, then a message': [save, warm],
  'two messages and the checkpoint between them': [warm, save, warm],
  'a new learner that gets a message, then the checkpoint': [replace, warm, save],
  'a message to a learner that is replaced, then the checkpoint': [warm, replace, save],
  'a message, fewer learners, another message, then the checkpoint': [warm, resize, warm, save]
}

describe('a run that goes on from a checkpoint of a rest in which it was changed', () => {
  let folder: string
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'arbalest-rest-'))))
  afterEach(() => rmSync(folder, { recursive: true }))

  for (const [what, steps] of Object.entries(RESTS))
    it(`ends with the bits of one that does what it had done by then: ${what}`, async () => {
      const options = await manyRounds({ learner: WARM_LEARNER, learnerOptions: { temperature: 1, rest: 1 }, until: { steps: 300 } })
      const job = train({ ...options, checkpoint: { dir: folder } })
      // The learners remember an earlier message too.
      await atRest(job, 30, () => warm(job))
      let saved = ''
      await atRest(job, 30, async () => {
        for (const step of steps) {
          const answer = await step(job)
          if (step === save) saved = answer as string
        }
      })
      const finished = await job.finished
      const resumed = await train({ ...options, checkpoint: { dir: folder, resume: saved } }).finished
      const repeated = await train({ ...options, interventions: resumed.interventions! }).finished
      expect(resumed.weightsSha256).to.equal(repeated.weightsSha256)
      if (steps.at(-1) === save) expect(resumed.weightsSha256).to.equal(finished.weightsSha256)
      else expect(resumed.weightsSha256).to.not.equal(finished.weightsSha256)
    })
})
