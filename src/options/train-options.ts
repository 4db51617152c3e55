import { group, type Entries, type GivenOptions, type ToldByName } from '../schema/group.js'
import { averageOptions } from './average.js'
import { checkpointOptions } from './checkpoint.js'
import { dataOptions } from './data.js'
import { devicesOptions } from './devices.js'
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

const heldOut = 'held-out samples belong to the data: test or testFraction of datasetFromArrays, testFraction of images and table'
const figures = "listen to the job, such as job.on('progress', ...): docs/runs.md shows how MLflow and Weights & Biases get its figures"
const sampleWeights =
  'classWeights weighs the samples of each class; for weights of single samples, write a learner: docs/write-a-learner.md'

/** What takes the place of options that other libraries have, and `train` has not. */
const elsewhere = {
  loss: 'the loss is of the model: loss of defineModel',
  criterion: 'the loss is of the model: loss of defineModel',
  callbacks: "listen to the job, such as job.on('evaluated', ...), or use onStep and onEvaluated",
  onProgress: "listen to the job: job.on('progress', ...)",
  verbose: 'leave it out: a job prints nothing; listen to its events, or use log',
  logger: figures,
  wandb: figures,
  mlflow: figures,
  shuffle: 'leave it out: each epoch has another order, by seed',
  validationSplit: heldOut,
  validation_split: heldOut,
  validationData: heldOut,
  validation_data: heldOut,
  valData: heldOut,
  testData: heldOut,
  sampleWeight: sampleWeights,
  sample_weight: sampleWeights,
  save: 'save what is trained: await job.model.save(file), or --save FILE of arbalest train',
  strategy: "use synchroniser: 'ssgd' is what DistributedDataParallel does",
  augmentation:
    'augmentation belongs to the data: that of datasetFromArrays, or images.crop, images.flip and images.colour; cutout, mixup and cutmix are options'
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
