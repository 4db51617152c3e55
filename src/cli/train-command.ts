import { resolve } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { train, zoo, type Job, type TrainOptions } from '../index.js'
import { invalidOption } from '../errors.js'
import { isFirstProcess, jobOfProcess } from '../hosts/tenants.js'
import { asTyped } from './as-typed.js'
import type { CommonFlags, DefineCommand } from './command.js'
import { chosenConfig, type LoadedConfig } from './config-file.js'
import { EXIT, type ExitCode } from './exit.js'
import { invalidFlag } from './flag-values.js'
import type { OutputLoss } from './output-loss.js'
import { overfitResult } from './reporters/messages.js'
import { PlainLines } from './reporters/plain-lines.js'
import { JsonLines, type Output, type Reporter } from './reporters/reporter.js'
import { SavedModelFile } from './saved-model-file.js'
import { StopOnSignal } from './stop-on-signal.js'
import { tellDashboard } from './tell-dashboard.js'
import { hasCursor } from './terminal.js'
import { external } from './text.js'
import type { FlagValues } from './option-flags.js'
import { addTrainFlags, flagOf, trainOptionsOf } from './train-flags.js'

const NOTES = `
Examples:
  arbalest train                         LeNet on generated digits
  arbalest train --model mlp --steps 100 --seed 7
  arbalest train --model resnet20 --data cifar-10 --data-dir ~/data --epochs 10
  arbalest train --lr 0.02               flags override an arbalest.config.ts
  arbalest train --config my-run.ts      options from another module

With --json the last line of stdout is {"event":"finished",...} or
{"event":"failed",...}.`

/** The flags of `train` beside the options of a run. */
interface TrainCommandFlags extends CommonFlags {
  /** The config's file; false for --no-config. */
  readonly config?: string | false
  /** The file for the trained model. */
  readonly save?: string
  /** Tells every decision of the tuner. */
  readonly verbose?: boolean
}

export const defineTrain: DefineCommand = (command, { output, finish }) => {
  addTrainFlags(command)
  command
    .argument('[config]', 'short for --config <file>')
    .addHelpText('after', NOTES)
    .action(async (named: string | undefined, { json = false, stack: _, config, save, verbose = false, ...flags }: TrainCommandFlags) => {
      const chosen = await chosenConfig({ named, config })
      // Without a config every option could only have been given by its flag.
      const typed = { nameOf: (path: string) => flagOf(path, chosen.file === undefined ? undefined : flags), file: chosen.file }
      try {
        finish(await runTrain({ config: chosen, flags, save, json, verbose, output }))
      } catch (error) {
        throw asTyped(error, typed)
      }
    })
}

interface TrainRun {
  readonly config: LoadedConfig
  readonly flags: FlagValues
  readonly save: string | undefined
  readonly json: boolean
  readonly verbose: boolean
  readonly output: OutputLoss
}

/** `arbalest train`: runs one job and reports its events. */
async function runTrain({ config, flags, save, json, verbose, output }: TrainRun): Promise<ExitCode> {
  const options = trainOptionsOf(flags, config.options)
  checkDistinct(options, save)
  const isHeard = speaks(options)
  const file = save === undefined || !isHeard ? undefined : await checkedFile(save, options)
  const reporter = isHeard ? await reporterFor(process.stdout, { json, verbose }) : SILENT
  const job = train(options)
  // A listener that throws ends the run before its first step.
  if (file) job.once('started', (event) => file.checkSpace(event))
  using signals = new StopOnSignal(() => job.stop(), { leave: () => reporter.close() })
  // A reader that closes the pipe wants no more training; a full disk is an accident, after which training continues.
  output.continueAfterLoss((exitCode) => exitCode === EXIT.brokenPipe && job.stop())
  if (config.file !== undefined && !json && isHeard) process.stdout.write(`options from ${external(config.file)}\n`)
  // If the port cannot be had, the run itself fails with that.
  job.dashboard.then(
    (url) => tellDashboard(url, json),
    () => {}
  )
  try {
    const losses: number[] = []
    for await (const event of job) {
      if (!output.isLost) reporter.show(event)
      if (event.event === 'evaluated') losses.push(event.testLoss)
    }
    if (file) await saveTrained(job, file, json)
    if ((await job.finished).checkpoints === 'incomplete') return EXIT.failed
    // The other processes have no losses.
    if (isHeard && isOverfitTest(options) && !signals.exitCode && !output.isLost) return reportOverfit(losses, json)
    return signals.exitCode ?? EXIT.done
  } finally {
    reporter.close()
  }
}

/** Refuses two outputs in one file, of which each would overwrite the other. */
function checkDistinct({ log, trace }: TrainOptions, save: string | undefined): void {
  const traceFile = typeof trace === 'string' ? trace : trace?.file
  const outputs = Object.entries({ '--log': log, '--trace': traceFile, '--save': save })
  const seen = new Map<string, string>()
  for (const [flag, path] of outputs) {
    if (typeof path !== 'string') continue
    const other = seen.get(resolve(path))
    if (other !== undefined) throw invalidFlag(flag, path, `${other} names the same file: use another`)
    seen.set(resolve(path), flag)
  }
}

/** Of processes that train together the first one speaks for all, and saves the model; of those that train for themselves each does. */
function speaks({ hosts }: TrainOptions): boolean {
  return hosts === 'none' || isFirstProcess()
}

const SILENT: Reporter = { show: () => {}, close: () => {} }

/** A progress bar on a terminal, lines of text in a file or pipe, JSON if requested. */
async function reporterFor(output: Output, { json, verbose }: Pick<TrainRun, 'json' | 'verbose'>): Promise<Reporter> {
  const job = jobOfProcess()
  if (json) return new JsonLines(output, job)
  if (job !== undefined) return new PlainLines(ofJob(output, job), { verbose })
  if (!hasCursor(output)) return new PlainLines(output, { verbose })
  const { ProgressBar } = await import('./reporters/progress-bar.js')
  return new ProgressBar(output, { verbose })
}

/** Lines of text, each with its job's number in front. */
function ofJob(output: Output, job: number): Output {
  return { write: (text: string) => output.write(text.trimEnd().replaceAll(/^/gm, `job ${job}: `) + '\n') } as unknown as Output
}

/** Checks before training that the model can be saved. Throws INVALID_OPTION and the errors of `SavedModelFile.at`. */
async function checkedFile(path: string, { model, checkpoint, dryRun }: TrainOptions): Promise<SavedModelFile> {
  if (dryRun === true) throw invalidOption('--save', path, 'omit it: a dry run does not train a model')
  try {
    return await SavedModelFile.at(path, {
      model: typeof model === 'string' && !Object.hasOwn(zoo, model) ? undefined : model,
      checkpoints: folderOf(checkpoint)
    })
  } catch (error) {
    throw asTyped(error, { nameOf: (parameter) => (parameter === 'path' ? '--save' : undefined) })
  }
}

function folderOf(checkpoint: TrainOptions['checkpoint']): string | undefined {
  return typeof checkpoint === 'object' ? checkpoint.dir : checkpoint
}

async function saveTrained(job: Job, file: SavedModelFile, json: boolean): Promise<void> {
  if ((await job.finished).iterations === 0) {
    process.stderr.write(`nothing was trained: ${external(file.path)} is not written (an existing file stays)\n`)
    return
  }
  await file.write(job)
  if (!json) process.stdout.write(`model in ${external(file.path)}\n`)
}

/** A dry run takes too few steps to show whether the model can overfit. */
function isOverfitTest({ overfit, dryRun }: TrainOptions): boolean {
  return overfit !== undefined && dryRun !== true
}

/** A model that cannot overfit a few batches fails the test. */
function reportOverfit(losses: readonly number[], json: boolean): ExitCode {
  const { learnt, text } = overfitResult(losses[0] ?? NaN, losses.at(-1) ?? NaN)
  ;(json ? process.stderr : process.stdout).write(`${json ? stripVTControlCharacters(text) : text}\n`)
  return learnt ? EXIT.done : EXIT.failed
}
