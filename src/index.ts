export { train } from './training/train.js'
export type { Job, JobEvents, PromisedModel } from './training/job.js'
export type { EvaluatedEvent, FinishedEvent, JobEvent, LearnerLostEvent, ProgressEvent, StartedEvent } from './training/events.js'
export type { OptimiserOptions, SupervisionOptions, SynchroniserOptions, TrainOptions, UntilOptions } from './training/options.js'

export {
  avgPool2d,
  batchNorm2d,
  composed,
  conv2d,
  defineModel,
  dropout,
  flatten,
  globalAvgPool,
  linear,
  maxPool2d,
  relu,
  residual,
  subsamplePad
} from './model/layers.js'
export { withOperators, type ComposedOperator, type OperatorBuilder } from './model/composed.js'
export type { Layer, Model, Pair, WeightInitialiser } from './model/model.js'
export { lenet, logisticRegression, mlp, modelNamed, resnet, zoo, type Shortcut, type ZooShape } from './model/zoo/index.js'
export { parameterCount } from './model/graph-builder.js'

export { datasetFromArrays, type ArrayDatasetOptions, type SampleArrays } from './data/fromArrays.js'
export { datasetNames, openDataset, type OpenDatasetOptions } from './data/open.js'
export type { Dataset } from './data/dataset.js'
export type { DatasetSpec } from './engine/contract.js'

export { importWeights, type ImportedWeights, type ImportOptions } from './formats/import.js'
export { exportOnnx, type Normalisation, type OnnxOptions } from './formats/onnx/export.js'
export { readSafetensors, SafetensorsFile, writeSafetensors, type SafetensorsOptions } from './formats/safetensors.js'
export type { ModelFormat, SaveOptions } from './formats/save.js'
export type { FloatTensors, Tensor, TensorData } from './formats/tensor.js'

export type { LearnerContext, LearnerModule, LearnerPlugin } from './actors/learner-plugin.js'
export type { BoundProgram, LearnerReplica, ProgramRequest } from './actors/learner-replica.js'
export type { Teacher, TeacherSpec } from './actors/teacher.js'

export { ArbalestError, type ErrorCode } from './errors.js'
