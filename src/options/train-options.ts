import { group, type Entries, type GivenOptions, type ToldByName } from '../schema/group.js'
import { averageOptions } from './average.js'
import { checkpointOptions } from './checkpoint.js'
import { dataOptions } from './data.js'
import { devicesOptions } from './devices.js'
import { elsewhere } from './elsewhere.js'
import { evaluationOptions } from './evaluation.js'
import { learnersOptions } from './learners.js'
import { modelOptions } from './model.js'
import { optimiserOptions } from './optimiser.js'
import { recordOptions } from './records.js'
import { runOptions } from './run.js'
import { synchroniserOptions } from './synchroniser.js'
import { untilOptions } from './until.js'

/** The options of `train` by topic, in the order of `arbalest train --help` and of docs/configuration.md. */
export const topics: Readonly<Record<string, Entries>> = {
  Model: modelOptions,
  Data: dataOptions,
  Learners: learnersOptions,
  Optimiser: optimiserOptions,
  Synchroniser: synchroniserOptions,
  'Average for evaluation': averageOptions,
  'End of the run': untilOptions,
  Evaluation: evaluationOptions,
  Devices: devicesOptions,
  Checkpoints: checkpointOptions,
  Records: recordOptions,
  'The run itself': runOptions
}

export const trainOptions = group(
  {
    ...modelOptions,
    ...dataOptions,
    ...learnersOptions,
    ...optimiserOptions,
    ...synchroniserOptions,
    ...averageOptions,
    ...untilOptions,
    ...evaluationOptions,
    ...devicesOptions,
    ...checkpointOptions,
    ...recordOptions,
    ...runOptions
  },
  elsewhere
)

/** The options of `train`. Omitted ones get the default that suits the model. */
export interface TrainOptions extends GivenOptions<typeof trainOptions>, ToldByName {}
