import { join } from 'node:path'
import { ArbalestError, messageOf } from '../errors.js'
import { makeFolder } from '../formats/write-file.js'
import { RunLog } from './run-log.js'
import { EventSinks } from './sinks.js'

/** Where a run's events are written. */
export interface RecordSettings {
  /** A file that several runs may share. */
  readonly log?: string
  /** A folder in which each run has a file of its own. */
  readonly logDir?: string
  /** A folder in which each run has a folder of its own. */
  readonly tensorboard?: string
}

/** Opens all files before the run with this name begins. Throws WRITE_FAILED. */
export async function openSinks({ log, logDir, tensorboard }: RecordSettings, run: string): Promise<EventSinks> {
  const began = Date.now() / 1000
  const sinks = new EventSinks()
  try {
    if (log !== undefined) sinks.add(new RunLog(log, run))
    if (logDir !== undefined) sinks.add(await inFolder('logDir', logDir, () => logIn(logDir, run)))
    if (tensorboard !== undefined) {
      // Loaded on demand: the libraries of this format are the largest of all.
      const { TensorBoardFile } = await import('./tensorboard.js')
      sinks.add(await inFolder('tensorboard', tensorboard, () => TensorBoardFile.open(tensorboard, run, began)))
    }
    return sinks
  } catch (error) {
    sinks.close()
    throw error
  }
}

/** Throws the system's error: that of RunLog names the option `log`. */
function logIn(folder: string, run: string): RunLog {
  makeFolder(folder)
  try {
    return new RunLog(join(folder, `${run}.jsonl`), run)
  } catch (error) {
    throw (error as ArbalestError).cause
  }
}

/** What `open` opens in the folder that an option names. Throws WRITE_FAILED, with the option. */
async function inFolder<Sink>(option: string, folder: string, open: () => Sink | Promise<Sink>): Promise<Sink> {
  try {
    return await open()
  } catch (cause) {
    // Any error of a file has a code. Under some flags a process may not run what writes a format.
    const isOfFile = (cause as { readonly code?: unknown }).code !== undefined
    const [fault, fix] = isOfFile
      ? ['no file can be made there', 'name a folder that may be written']
      : ['this process cannot write such files', 'start it without the flag of Node that forbids this, or leave the option out']
    const message = `${option}: received ${JSON.stringify(folder)}; ${fault} (${messageOf(cause)}); ${fix}`
    throw new ArbalestError('WRITE_FAILED', message, { cause, data: { parameter: option, folder } })
  }
}
