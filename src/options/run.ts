import { interventionList, type Intervention } from '../schedules/interventions.js'
import { option } from '../schema/group.js'
import { abortSignal, truth, whole } from '../schema/values.js'

export const runOptions = {
  /** Seeds the first weights, the order of the samples and everything else that is random; 1 if omitted. */
  seed: option(whole(), {
    text: 'seeds the first weights, the order of the samples and everything else that is random',
    flag: '--seed <number>',
    also: ['randomSeed', 'random_seed', 'randomState', 'random_state'],
    default: 1
  }),
  /** Stops the job as `job.stop()` does. */
  signal: option(abortSignal(), { text: 'stops the job as job.stop() does' }),
  /**
   * The `interventions` of a finished run: what programs changed of it while it trained is changed again, before the same rounds, and the learners that died
   * leave again in the same rounds. In one process alone where learners have died.
   */
  interventions: option<readonly Intervention[], readonly Intervention[], readonly Intervention[]>(interventionList, {
    text: 'the interventions of a finished run, to repeat it',
    default: []
  }),
  /** Compiles, tells the plan and the memory as event `planned`, takes two steps and ends: the model stays untrained, and nothing is logged. */
  dryRun: option(truth(), { text: 'compile, show the plan and the memory, take two steps and end', flag: '--dry-run', default: false }),
  /** Trains on this many batches only, unchanged, and measures on the same: a model that cannot overfit them has a fault. */
  overfit: option(whole({ min: 1, max: 2 ** 20 }), {
    text: 'train on this many batches only and tell whether the loss collapses: a test of the model and its data',
    flag: '--overfit <batches>'
  })
}
