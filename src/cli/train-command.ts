import { checkSavePath, train, type Job, type Model } from '../index.js'
import { invalidOption } from '../errors.js'
import { asTyped } from './as-typed.js'
import { chosenConfig, type LoadedConfig } from './config-file.js'
import { EXIT, type ExitCode } from './exit.js'
import type { LostOutput } from './lost-output.js'
import { reporterFor } from './reporters/reporter.js'
import { overfitSentence } from './reporters/sentences.js'
import { StopOnSignal } from './stop-on-signal.js'
import { trainOptionsOf, type TrainFlags } from './train-flags.js'

/** What the command line says of a run, beside its options. */
export interface TrainCommandFlags extends TrainFlags {
  readonly json?: boolean
  /** The config's file; false for none. */
  readonly config?: string | false
  /** Where the trained model is written. */
  readonly save?: string
}

/** `arbalest train`: runs one job to its end and shows it. */
export async function runTrain(
  named: string | undefined,
  { json = false, config: chosen, save, ...flags }: TrainCommandFlags,
  output: LostOutput
): Promise<ExitCode> {
  const config = await chosenConfig({ named, config: chosen })
  if (save !== undefined) await checkSave(save, flags, config)
  const job = begin(flags, config)
  const reporter = reporterFor(process.stdout, { json })
  using signals = new StopOnSignal(() => job.stop(), { leave: () => reporter.close() })
  // Who closes the pipe has seen enough; a disk that is full is no wish of anybody's.
  output.goOn((exitCode) => exitCode === EXIT.brokenPipe && job.stop())
  if (config.file !== undefined && !json) process.stdout.write(`options from ${config.file}\n`)
  try {
    const losses: number[] = []
    for await (const event of job) {
      if (!output.lost) reporter.show(event)
      if (event.event === 'evaluated') losses.push(event.testLoss)
    }
    if (save !== undefined) await keep(job, save, json)
    if (learnsByHeart(flags, config) && !signals.exitCode && !output.lost) return toldOverfit(losses, json)
    return signals.exitCode ?? EXIT.done
  } finally {
    reporter.close()
  }
}

/** Throws INVALID_OPTION and what `checkSavePath` throws. */
async function checkSave(file: string, flags: TrainFlags, { options }: LoadedConfig): Promise<void> {
  if (flags.dryRun ?? options.dryRun) throw invalidOption('--save', file, 'leave it out: a dry run trains nothing that is worth keeping')
  await checkSavePath(file, modelOf(flags, options))
}

/** Those of the zoo have a form in every format. */
function modelOf({ model: named }: TrainFlags, { model }: LoadedConfig['options']): Model | undefined {
  return named === undefined && typeof model === 'object' ? model : undefined
}

async function keep(job: Job, file: string, json: boolean): Promise<void> {
  if ((await job.finished).iterations === 0) {
    process.stderr.write(`nothing has been trained: no model in ${file} (an older one stays)\n`)
    return
  }
  await job.model.save(file)
  if (!json) process.stdout.write(`model in ${file}\n`)
}

/** Two steps and no more, as a dry run takes, say nothing of what can be learnt. */
function learnsByHeart(flags: TrainFlags, { options }: LoadedConfig): boolean {
  return (flags.overfit ?? options.overfit) !== undefined && !(flags.dryRun ?? options.dryRun)
}

/** A model that could not learn a few batches by heart is a failure. */
function toldOverfit(losses: readonly number[], json: boolean): ExitCode {
  const { learnt, text } = overfitSentence(losses[0] ?? NaN, losses.at(-1) ?? NaN)
  ;(json ? process.stderr : process.stdout).write(`${text}\n`)
  return learnt ? EXIT.done : EXIT.failed
}

function begin(flags: TrainFlags, { file, options }: LoadedConfig): Job {
  try {
    return train(trainOptionsOf(flags, options))
  } catch (error) {
    throw asTyped(error, flags, file)
  }
}
