import { existsSync } from 'node:fs'
import { unknownName } from '../errors.js'
import {
  ArbalestError,
  datasetNames,
  datasetTraits,
  defaultsFor,
  imageSizeOf,
  modelNamed,
  textNames,
  zoo,
  type Defaults
} from '../index.js'
import { CONFIG_NAMES } from './config-file.js'
import type { CommonFlags, DefineCommand } from './command.js'
import { EXIT, type ExitCode } from './exit.js'
import { invalidFlag } from './flag-values.js'
import { writeWhole } from './whole-file.js'

interface InitFlags extends CommonFlags {
  readonly js?: boolean
  readonly force?: boolean
  readonly model?: string
  readonly data?: string
}

export const defineInit: DefineCommand = (command, { finish }) => {
  command
    .option('--js', 'write plain JavaScript: arbalest.config.mjs')
    .option('--force', 'replace an existing config')
    .option('--model <name>', 'a model of the zoo (lenet)')
    .option('--data <name>', 'a data set or a folder of images or texts (digits; tinyshakespeare for gpt, lstm and gru)')
    .action(async (flags: InitFlags) => finish(await runInit(flags)))
}

/** `arbalest init`: writes a config to the working folder, and replaces an existing one only with `--force`. */
async function runInit({
  js = false,
  force = false,
  json = false,
  model = 'lenet',
  data = defaultData(model)
}: InitFlags): Promise<ExitCode> {
  const file = js ? 'arbalest.config.mjs' : 'arbalest.config.ts'
  const existing = CONFIG_NAMES.find((name) => existsSync(name))
  // Of two configs, `train` would silently use the first of CONFIG_NAMES.
  if (existing !== undefined && !(force && existing === file))
    throw new ArbalestError(
      'INVALID_OPTION',
      `init: ${existing} exists already; ${existing === file ? 'use --force to replace it' : `remove it first: ${file} would not be the only config`}`,
      {
        data: { parameter: 'init', received: existing }
      }
    )
  checkData(data)
  if (!Object.hasOwn(zoo, model)) throw unknownName('--model', model, Object.keys(zoo))
  checkSuits(model, data)
  await writeWhole(file, template(model, data)).catch((cause: Error) => {
    throw new ArbalestError(
      'WRITE_FAILED',
      `init: ${file} cannot be written (${cause.message}); change to a folder that you may write to`,
      {
        cause
      }
    )
  })
  if (json) process.stdout.write(`${JSON.stringify({ file })}\n`)
  else
    process.stdout.write(
      `${file} is written. Edit it, then:\n  npx arbalest train --dry-run   # shows the plan and the memory\n  npx arbalest train\n`
    )
  return EXIT.done
}

/** A text for a model that continues one. */
function defaultData(model: string): string {
  return ['gpt', 'lstm', 'gru'].includes(model) ? 'tinyshakespeare' : 'digits'
}

/** A data set by its name, or a folder of images or texts, as `train` takes it. */
function checkData(data: string): void {
  const isFolder = existsSync(`${data}/`)
  if (isFolder || datasetNames.includes(data)) return
  if (!/[./\\]/.test(data)) throw unknownName('--data', data, datasetNames)
  throw invalidFlag(
    '--data',
    data,
    'name a data set or a folder of images or texts; a text or a table needs no config: arbalest train --data FILE'
  )
}

/** Refuses a published data set whose samples the model does not take: no training could begin with such a config. */
function checkSuits(model: string, data: string): void {
  if (!datasetNames.includes(data) || textNames.includes(data)) return
  const { sample, classes } = datasetTraits(data)
  try {
    modelNamed(model, { input: sample, classes })
  } catch (cause) {
    if (!(cause instanceof ArbalestError) || cause.code !== 'SHAPE_MISMATCH') throw cause
    throw invalidFlag(
      '--data',
      data,
      `its samples are ${sample.join(' x ')}, which model ${model} does not take: name a folder, or another data set`
    )
  }
}

/** The commented options show their defaults, or examples if they have none. Each is valid as it stands, once its `//` is deleted. */
function template(model: string, data: string): string {
  const { batch, learningRate, momentum, weightDecay, epochs } = defaultsFor(model)
  return `import { defineConfig } from 'arbalest'

// Every option may be omitted; flags of \`arbalest train\` override the options here.
export default defineConfig({
  // A model of the zoo by its name, or your own: defineModel({ name, input, layers }).
  model: ${JSON.stringify(model)},

  // A data set by its name, a folder of images or texts, or datasetFromArrays({ sample, samples, labels, classes }).
  data: ${JSON.stringify(data)},${dataOptions(data, model)
    .map((option) => `\n  // ${option},`)
    .join('')}

  // Samples of a learner in a step. Keep it small: Arbalest adds learners instead.
  // batch: ${batch},
  // The number of learners: 'auto' finds the fastest during training; a fixed number makes results reproducible.
  // learners: 'auto',

  optimiser: {
    // Learning rate, the learners' momentum and weight decay; the defaults suit the model.
    // learningRate: ${learningRate},
    // momentum: ${momentum},
    // weightDecay: ${weightDecay},
    ${scheduleOptions(defaultsFor(model))}
  },

  // How the learners are synchronised: synchronous model averaging, every \`period\` iterations.
  // synchroniser: { name: 'sma', period: 1, syncMomentum: 0 },

  // When to stop, whichever comes first.
  until: {
    epochs: ${epochs},
    // accuracy: 0.99,
    // patience: 3
  },

  // The model to keep: the 'last', or the 'best' of all measurements.
  keep: 'best',

  // Logs each run's events to a file; \`arbalest runs\` lists, compares and plots runs.
  logDir: 'runs',
  // tensorboard: 'runs/tensorboard',

  // Fine-tuning: initial weights, and layers to initialise anew.
  // initialWeights: { file: 'model.safetensors', reinitialise: ['fc'] },

  seed: 1
})
`
}

/** The options of the learning rate's schedule. */
function scheduleOptions({ schedule, milestones, gamma, epochs }: Defaults): string {
  if (schedule !== 'multistep') return `// The schedule of the learning rate.\n    // schedule: '${schedule}'`
  const drops = milestones.map((share) => Number((share * epochs).toFixed(2))).join(', ')
  return `// Epochs at which the learning rate is multiplied by gamma.\n    // milestones: [${drops}],\n    // gamma: ${gamma}`
}

/** The options for reading the data set. Digits are generated, and have none. */
function dataOptions(data: string, model: string): readonly string[] {
  if (data === 'digits') return []
  if (!datasetNames.includes(data))
    return model === 'text-classifier' ? ['context: 256'] : [`images: { size: ${imageSizeOf(model) ?? 224} }`]
  return ["dataDir: 'data'", ...(textNames.includes(data) ? ['context: 128'] : [])]
}
