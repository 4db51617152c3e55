import { existsSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { unknownName } from '../errors.js'
import { ArbalestError, datasetNames, defaultsFor, textNames, zoo, type Defaults } from '../index.js'
import { CONFIG_NAMES } from './config-file.js'
import { EXIT, type ExitCode } from './exit.js'

export interface InitFlags {
  readonly js?: boolean
  readonly force?: boolean
  readonly model?: string
  readonly data?: string
  readonly json?: boolean
}

/** `arbalest init`: a config to begin with, in the working folder. Never over another one, but for `--force`. */
export async function runInit({
  js = false,
  force = false,
  json = false,
  model = 'lenet',
  data = usualData(model)
}: InitFlags): Promise<ExitCode> {
  const file = js ? 'arbalest.config.mjs' : 'arbalest.config.ts'
  const there = CONFIG_NAMES.find((name) => existsSync(name))
  // Of two, the first in the order of search would be taken, and the other one forgotten.
  if (there !== undefined && !(force && there === file))
    throw new ArbalestError(
      'INVALID_OPTION',
      `init: ${there} is there already; ${there === file ? 'use --force to write over it' : `remove it first: ${file} would not be the only one`}`,
      {
        data: { parameter: 'init', received: there }
      }
    )
  checkData(data)
  if (!Object.hasOwn(zoo, model)) throw unknownName('--model', model, Object.keys(zoo))
  await writeFile(file, template(model, data)).catch((cause: Error) => {
    throw new ArbalestError('WRITE_FAILED', `init: ${file} cannot be written (${cause.message}); go to a folder that may be written`, {
      cause
    })
  })
  if (json) process.stdout.write(`${JSON.stringify({ file })}\n`)
  else
    process.stdout.write(
      `${file} is written. Look at it, then:\n  npx arbalest train --dry-run   # what it will do and take\n  npx arbalest train\n`
    )
  return EXIT.done
}

/** A text for a model that takes nothing else. */
function usualData(model: string): string {
  return model === 'gpt' ? 'tinyshakespeare' : 'digits'
}

/** A data set by its name, or a folder of images, as `train` takes it. */
function checkData(data: string): void {
  const isFolder = statSync(data, { throwIfNoEntry: false })?.isDirectory() === true
  if (!isFolder && !datasetNames.includes(data)) throw unknownName('--data', data, datasetNames)
}

/** What is commented out is the default, or an example where there is none. */
function template(model: string, data: string): string {
  const { batch, learningRate, momentum, weightDecay, syncMomentum, epochs } = defaultsFor(model)
  return `import { defineConfig } from 'arbalest'

// Every option may be left out; flags of \`arbalest train\` come over what is here.
export default defineConfig({
  // A model of the zoo by its name, or one of your own: defineModel({ name, input, layers }).
  model: ${JSON.stringify(model)},

  // A data set by its name, a folder of images, or datasetFromArrays({ sample, samples, labels, classes }).
  data: ${JSON.stringify(data)},
  ${reading(data)}

  // Samples that a learner takes in a step. Keep it small: learners are added in its stead.
  // batch: ${batch},
  // How many learners train: found while they train, or a number for the same result every time.
  // learners: 'auto',

  optimiser: {
    // Learning rate, the learners' momentum and weight decay; what is left out suits the model.
    // learningRate: ${learningRate},
    // momentum: ${momentum},
    // weightDecay: ${weightDecay},
    ${course(defaultsFor(model))}
  },

  // How learners are kept together: synchronous model averaging, every \`period\` iterations.
  // synchroniser: { name: 'sma', period: 1, syncMomentum: ${syncMomentum} },

  // When to end, whichever comes first.
  until: {
    epochs: ${epochs}
    // accuracy: 0.99,
    // patience: 3
  },

  // Which model you get: the last one, or the one that was measured best.
  keep: 'best',

  // A file of every run's events; \`arbalest runs\` lists, compares and plots them.
  logDir: 'runs',
  // tensorboard: 'runs/tensorboard',

  // Weights to begin with, and what shall start anew: fine-tuning.
  // initialWeights: { file: 'model.safetensors', reinitialise: ['fc'] },

  seed: 1
})
`
}

/** How the rate goes on from where it begins. */
function course({ schedule, milestones, gamma, epochs }: Defaults): string {
  if (schedule !== 'multistep') return `// The course of the rate over the run.\n    // schedule: '${schedule}'`
  const drops = milestones.map((share) => Number((share * epochs).toFixed(2))).join(', ')
  return `// Epochs at which the rate is multiplied by gamma.\n    // milestones: [${drops}],\n    // gamma: ${gamma}`
}

/** The options with which such data is read. */
function reading(data: string): string {
  if (!datasetNames.includes(data)) return '// images: { size: 224 },'
  return textNames.includes(data) ? "// dataDir: 'data',\n  // context: 128," : "// dataDir: 'data',"
}
