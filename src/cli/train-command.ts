import { ArbalestError, train, type Job } from '../index.js'
import { loadConfig } from './config-file.js'
import { EXIT, type ExitCode } from './exit-codes.js'
import { reporterFor } from './reporters/reporter.js'
import { StopOnSignal } from './stop-on-signal.js'
import { flagOf, trainOptionsOf, type TrainFlags } from './train-flags.js'

/** `arbalest train`: runs one job to its end and shows it. */
export async function runTrain(config: string | undefined, flags: TrainFlags & { readonly json?: boolean }): Promise<ExitCode> {
  const job = begin(flags, config === undefined ? {} : await loadConfig(config))
  using signals = new StopOnSignal(() => job.stop())
  const reader = new ReaderGone(process.stdout, () => job.stop())
  const reporter = reporterFor(process.stdout, { json: flags.json === true })
  try {
    for await (const event of job) if (!reader.gone) reporter.show(event)
    return signals.exitCode ?? (reader.gone ? EXIT.brokenPipe : EXIT.done)
  } finally {
    reporter.close()
  }
}

function begin({ json: _, ...flags }: TrainFlags & { readonly json?: boolean }, config: Awaited<ReturnType<typeof loadConfig>>): Job {
  try {
    return train(trainOptionsOf(flags, config))
  } catch (error) {
    throw inTermsOfFlags(error, flags)
  }
}

/** The same error, with the option called as it was typed. */
function inTermsOfFlags(error: unknown, flags: TrainFlags): unknown {
  if (!(error instanceof ArbalestError)) return error
  const { parameter } = error.data
  const flag = flagOf(parameter, flags)
  if (flag === undefined || !error.message.startsWith(`${String(parameter)}:`)) return error
  return new ArbalestError(error.code, flag + error.message.slice(String(parameter).length), {
    cause: error,
    data: { ...error.data, parameter: flag }
  })
}

/** Notices that nobody reads the output any more, as in `arbalest train | head`. */
class ReaderGone {
  #gone = false

  constructor(output: NodeJS.WriteStream, noticed: () => void) {
    output.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      if (!this.#gone) noticed()
      this.#gone = true
    })
  }

  get gone(): boolean {
    return this.#gone
  }
}
