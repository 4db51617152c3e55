import { setTimeout as sleep } from 'node:timers/promises'
import colours from 'picocolors'
import { ArbalestError, unknownName } from '../../errors.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { Looks } from './looks.js'
import { Screen } from './screen.js'
import { topTable } from './table.js'

export interface TopOptions {
  readonly json: boolean
  /** One look and the end. */
  readonly once: boolean
  /** This process's jobs alone; ends with them. */
  readonly pid?: number
}

const EVERY = 1_000
/** Of what happens in this time `once` tells. */
const ONCE = 500

/**
 * `arbalest top`: what the actors of this user's running jobs do, again every second. Holds the terminal in no state of its own, so that a
 * signal may just end it. Throws UNKNOWN_NAME for a process that shows no job.
 */
export async function runTop({ json, once, pid }: TopOptions, output: NodeJS.WriteStream = process.stdout): Promise<ExitCode> {
  const looks = new Looks()
  checkPid(pid, await looks.begin())
  const screen = new Screen(output)
  for (;;) {
    await sleep(once ? ONCE : EVERY)
    const jobs = await looks.again(pid)
    if (pid !== undefined && jobs.length === 0) return EXIT.done
    if (json) output.write(`${JSON.stringify({ event: 'top', jobs })}\n`)
    else screen.show(topTable(jobs, { colour: colours.isColorSupported && output.isTTY }))
    if (once) return EXIT.done
  }
}

function checkPid(pid: number | undefined, known: readonly number[]): void {
  if (pid === undefined || known.includes(pid)) return
  if (known.length > 0) throw unknownName('--pid', pid, known.map(String))
  throw new ArbalestError('UNKNOWN_NAME', `--pid: received ${pid}; no job of this user runs here: start one`, { data: { pid } })
}
