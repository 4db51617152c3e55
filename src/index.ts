/**
 * Training, models, data, files: what a program imports.
 *
 * @module arbalest
 */
// The first import: in a bundle that cannot work it throws an error that says so, before another module fails without a reason.
// oxlint-disable-next-line import/no-unassigned-import
import './package-version.js'

export { train } from './run/train.js'
export {
  crossover,
  type Crossover,
  type CrossedJob,
  type CrossoverEvent,
  type CrossoverFinishedEvent,
  type JobFailedEvent
} from './crossover/crossover.js'
export type { PolicyEvent } from './crossover/device-scheduler.js'
export type { MeasuredPolicy, SharingPolicy } from './crossover/sharing-policy.js'
export type { CrossoverOptions, Policy } from './options/crossover.js'
export { hub } from './run/hosts/hub-process.js'
export type { HubOptions, ServedEvent } from './run/hosts/hub-options.js'
export type { RefusedMessages } from './engine/contract.js'
export { explain, predict } from './run/explain/explain.js'
export type { ExplainedOperator, Explanation } from './run/explain/explanation.js'
export type { PredictedMode, Prediction } from './run/explain/prediction.js'
export type { Speeds } from './run/explain/speeds.js'
export type { LearnerMemory, SharedMemory } from './run/memory/need.js'
export type { HeldBytes } from './compiler/held-bytes.js'
export type { MemoryUse } from './compiler/memory-use.js'
export type { MachineSpeed } from './compiler/tiers/cost.js'
export type { MemorySpeed } from './engine/memory-speed.js'
export type { ExplainOptions, PredictOptions } from './options/explain.js'
export { defineConfig, type Config, type ConfigSource } from './options/config.js'
export type { Job, JobEvents, PromisedModel } from './run/job.js'
export type {
  EarlyEnd,
  EvaluatedEvent,
  FailedEvent,
  FinishedEvent,
  IntervenedEvent,
  JobEvent,
  LearnerLostEvent,
  HostLostEvent,
  LevelFigures,
  ExchangeEvent,
  LevelsEvent,
  LoggedEvent,
  PlannedEvent,
  PlannedProgram,
  PopulationEvent,
  PopulationFigures,
  ProgressEvent,
  RecordedEvent,
  SampleSkippedEvent,
  StartedEvent,
  StepEvent,
  TunerAction,
  CheckpointEvent,
  ResumedEvent,
  RunEvent,
  SetAsideEvent,
  WarningEvent,
  WentBackEvent
} from './observe/events.js'
export type { LoggedMetrics } from './observe/logged-metrics.js'
export type { MetricName } from './metrics/metric-names.js'
export type { ClassFigures, EvaluationMetrics } from './metrics/metrics.js'
export type { PopulationChange, PopulationSchedule } from './schedules/population.js'
export { readRuns } from './observe/read-runs.js'
export type { RecordedRun } from './observe/runs-of-log.js'
export type { AverageOptions, EmaOptions, LawaOptions, SwaOptions } from './options/average.js'
export type { CheckpointOptions, NotFiniteOptions } from './options/checkpoint.js'
export type { DeviceOptions } from './options/devices.js'
export type { Verdict } from './options/evaluation.js'
export type { LearnersOptions } from './options/learners.js'
export type { SupervisionOptions } from './options/supervision.js'
export type { InitialWeightsOptions } from './options/model.js'
export type { OptimiserName, OptimiserOptions, ScheduleName } from './options/optimiser.js'
export type { DashboardOptions, TraceOptions } from './options/records.js'
export type { OwnRuleOptions, SynchroniserOptions } from './options/synchroniser.js'
export type { TrainOptions } from './options/train-options.js'
export type { UntilOptions } from './options/until.js'
export type { BackendName, Precision, SegmentName } from './compiler/program.js'

export type { Duration } from './schedules/duration.js'
export {
  constant,
  cosine,
  exponential,
  inverse,
  multistep,
  oneCycle,
  step,
  warmup,
  type ConstantSchedule,
  type CosineSchedule,
  type ExponentialSchedule,
  type InverseSchedule,
  type LearningRateSchedule,
  type MultistepSchedule,
  type OneCycleSchedule,
  type StepSchedule,
  type WarmupSchedule
} from './schedules/learning-rates.js'

export * from './model/layers.js'
export type { ModelFileOptions } from './checkpoints/find-model.js'
export { loadModel, modelFile } from './trained/load-model.js'
export type { LoadModelOptions } from './trained/load-model-options.js'
export type { TrainedModel } from './trained/trained-model.js'
export type { GenerateOptions } from './trained/generate.js'
export type { Classification } from './trained/classify.js'
export type { EvaluateOptions, Measurement } from './trained/evaluate.js'

export { loadOperators, type ComposedOperator } from './model/composed.js'
export type { OperatorBuilder } from './model/operator-builder.js'
export type { Attributes, ComposableKind, ComposableOperators, Initialiser, OperatorKind, Operators, ValueId } from './model/graph.js'
export * from './model/zoo/index.js'
export { parameterCount, type LossChoice } from './model/graph-builder.js'

export { datasetFromArrays } from './data/from-arrays.js'
export type { ArrayDatasetOptions, SampleArrays } from './data/array-options.js'
export {
  checkData,
  datasetByEncoding,
  datasetFromTable,
  datasetFromText,
  datasetFromTexts,
  getData,
  imageFolder,
  imagesIn,
  maskedImages,
  readImage,
  readMask,
  readModelInputs
} from './data/datasets.js'
export type { TextDatasetOptions } from './data/text.js'
export type { TableDataset } from './data/tables/table.js'
export { isTablePath, readTable } from './data/tables/table-file.js'
export type { ReadTableOptions, RowBlock, TableSink } from './data/tables/row-block.js'
export type { TableDatasetOptions, TableOptions } from './data/tables/table-options.js'
export type { ColumnReport } from './data/tables/fit.js'
export { plainText } from './data/tables/cell.js'
export type { TableRow } from './data/tables/encode.js'
export type {
  CategoryEncoding,
  ColumnEncoding,
  ImageEncoding,
  NumberEncoding,
  LabelledEncoding,
  LanguageEncoding,
  SampleEncoding,
  TableEncoding,
  TargetEncoding,
  TextEncoding
} from './formats/encoding.js'
export type { InputBlock, InputSink, UnknownValues } from './data/model-inputs.js'
export type { CellTally, PlacedCell } from './data/tables/column.js'
export { remoteNames } from './data/remote/sources.js'
export type { CheckDataOptions, CheckedData, CheckedFile } from './data/remote/check-data.js'
export type { GetDataOptions, GotFile } from './data/remote/get-data.js'
export type { DownloadOptions, DownloadProgress } from './data/remote/download.js'
export { holdsTexts } from './data/file-kinds.js'
export type { TextsDataset } from './data/texts/labelled-texts.js'
export type { TextsOptions } from './data/texts/texts-options.js'
export { datasetNames, datasetTraits, readsText, textNames } from './data/dataset-names.js'
export { openData, openDataset } from './data/open.js'
export type { OpenDataOptions, OpenDatasetOptions } from './data/open-options.js'
export { openDataForModel, type DataForModelOptions, type ModelInput } from './data/data-for-model.js'
export type { Dataset, DatasetTraits, StoredDataset } from './data/dataset.js'
export type { ImageFolderOptions } from './data/images/image-options.js'
export type { MaskedImagesOptions } from './data/images/masked-images-options.js'
export type { ColourJitter } from './data/images/colour-jitter.js'
export type { RandomCrop } from './data/images/random-crop.js'
export type { OpenReader, ReadSample } from './data/dataset.js'
export type { Draws } from './data/random.js'
export type { FeedOptions, ReaderSpec, StreamedSamples } from './data/dataset.js'
export type { DatasetSpec } from './engine/contract.js'

export type { ImageSource } from './data/images/image-source.js'
export type { ImageModel } from './data/images/read-image.js'
export type { MaskOptions, MaskValue } from './data/images/mask-options.js'

export { checkSavePath, importWeights, readModel, saveModel } from './formats/model-files.js'
export type { ImportOptions, ReadModelOptions } from './formats/import-options.js'
export type { ImportedWeights, ReadModel } from './formats/import-weights.js'
export { exportOnnx, type OnnxOptions } from './formats/onnx/export.js'
export type { Augmentation } from './model/augmentation.js'
export type { Normalisation } from './model/normalisation.js'
export type { ElementTypeName } from './formats/tensor.js'
export type { SafetensorsHeader, TensorEntry } from './formats/safetensors-header.js'
export { readSafetensors, SafetensorsFile, writeSafetensors, type SafetensorsOptions } from './formats/safetensors.js'
export type { ModelFormat, SaveOptions } from './formats/save.js'
export type { SavedModel } from './formats/saved-model.js'
export type { FloatTensors, Tensor, TensorData } from './formats/tensor.js'
export type { TokenizerFiles } from './formats/tokenizer/tokenizer-files.js'

export { ruleNames, type NamedRule, type RuleName } from './rules/rules.js'
export type { DownpourOptions } from './rules/downpour.js'
export type { BoundOptions } from './rules/hogwild.js'
export type { EasgdOptions } from './rules/easgd.js'
export type { LocalSgdOptions, PostLocalSgdOptions } from './rules/local-sgd.js'
export type { LookaheadOptions } from './rules/lookahead.js'
export type { ParameterServerOptions } from './rules/parameter-server.js'
export type { PolyakRuppertOptions } from './rules/polyak-ruppert.js'
export type { OuterMomentumOptions } from './rules/slowmo.js'
export type { SmaOptions } from './rules/sma.js'
export type { RuleModule } from './rules/own-rule.js'
export type { RuleContext } from './rules/rule.js'
export type { AsynchronousRule, CentralRule, GroupRule, LevelName, Slack, SynchronousRule } from './engine/contract.js'
export type { ReplicaVector, RunOutcome, RunReport, ValueArray } from './engine/contract.js'
export type { JobActors, LearnerMessages, LearnerRef, SynchroniserRef } from './protocols/job-actors.js'
export type { LearnerContext, LearnerModule, LearnerPlugin } from './learner/learner-plugin.js'
export type { BoundProgram } from './learner/bound-program.js'
export type { LearnerReplica, ProgramRequest } from './learner/learner-replica.js'
export type { Teacher, TeacherSpec } from './learner/teacher.js'

export { ArbalestError, faultsOf, type ErrorCode, type OptionFault } from './errors.js'
