import type { Command } from 'commander'
import { datasetNames, holdsTexts, isTablePath, readsText, type Config, type Dataset, type TrainOptions } from '../index.js'
import { topics, trainOptions } from '../options/train-options.js'
import { OptionFlags, type FlagValues } from './option-flags.js'

const flags = new OptionFlags(trainOptions.entries)

/** Adds the flags of `train` in groups for `--help`, first of all those that most runs need. */
export function addTrainFlags(command: Command): void {
  command.optionsGroup('What most runs need:')
  flags.addTo(command, ({ isCommon }) => isCommon)
  command.option('--save <file>', 'where the trained model is written at the end: .safetensors, .onnx, or a folder/ for transformers')
  for (const [topic, entries] of Object.entries(topics)) {
    command.optionsGroup(`${topic}:`)
    flags.addTo(command, ({ path, isCommon }) => !isCommon && Object.hasOwn(entries, path.split('.')[0]!))
  }
  command
    .optionsGroup('Config:')
    .option('--config <file>', 'a module that exports options, over which flags go (default: arbalest.config.ts of the working folder)')
    .option('--no-config', 'use no config, not even that of the working folder')
    .optionsGroup('Output and help:')
    .option('--verbose', 'tell each trial of --learners auto, and not only in one line what came of them')
}

/** The config's options, with the flags in their places over them. */
export function trainOptionsOf(values: FlagValues, config: Config = {}): TrainOptions {
  const options = flags.over(config, values) as Config
  return options.initial === undefined ? { model: usualModel(options), ...options } : options
}

/** What is trained if neither a flag nor a config says: by the data. */
function usualModel({ data, table }: Config): string {
  if (typeof data !== 'string') return usualModelOf(data)
  if (readsText(data)) return 'gpt'
  if (isTablePath(data)) return table?.text === undefined ? 'mlp' : 'text-classifier'
  return !datasetNames.includes(data) && holdsTexts(data) ? 'text-classifier' : 'lenet'
}

/** `train` checks a Dataset. */
function usualModelOf(data: Partial<Dataset> | undefined): string {
  // Windows of a text.
  if (data?.train?.stride !== undefined) return 'gpt'
  const kind = data?.encoding?.kind
  if (kind === undefined || kind === 'image') return 'lenet'
  return kind === 'table' ? 'mlp' : 'text-classifier'
}

/** The flag of the option at `path`, if it is among the given flags, or any flag without them. */
export function flagOf(path: string, values?: FlagValues): string | undefined {
  return flags.nameOf(path, values)
}

/** The flag of the option that has this name in another library. */
export function flagMeantBy(typed: string): string | undefined {
  return flags.flagMeantBy(typed)
}
