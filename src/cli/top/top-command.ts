import { setTimeout as sleep } from 'node:timers/promises'
import { createColors } from 'picocolors'
import { ArbalestError, unknownName } from '../../errors.js'
import type { CommonFlags, DefineCommand } from '../command.js'
import { EXIT, type ExitCode } from '../exit.js'
import { wholeNumber } from '../flag-values.js'
import { hasColours } from '../terminal.js'
import { bytes, count, duration, external, tableLines, type Column } from '../text.js'
import { JobPoller, type JobRates } from './actor-rates.js'
import { Screen } from './screen.js'

const NOTES = `
The columns waiting and messages are counts; /s and in turn cover the last second; wait is the mean time from a message's arrival to its turn, and turn the mean
duration of a turn, in the last second; with --once in the last half of a second. An actor at work owes an answer and takes messages meanwhile, as a learner does while
it trains. Only the user who runs a job sees it, with names and numbers only; ARBALEST_TOP=off in its environment hides it.

With --json each table is an object {"event":"top","jobs":[..]}, with "silent":[..] if processes do not answer. A job has its pid, id, name, seconds since it began and
actors. Of an actor depth is the messages that wait, deferred the answers that it owes, rate the messages a second, share the part of the time in turns from 0 to 1, heap
bytes; wait and handle are milliseconds, null where no turn was timed. waitTime and handleTime are their sums, over the timed ones of all its messages.`

export interface TopOptions {
  readonly json: boolean
  /** Print one table and end. */
  readonly once: boolean
  /** Show only this process's jobs, and end with them. */
  readonly pid?: number
}

/** Milliseconds between two tables. */
const INTERVAL = 1_000
/** Milliseconds over which `once` measures rates. */
const INTERVAL_ONCE = 500

export const defineTop: DefineCommand = (command, { finish }) => {
  command
    .option('--pid <n>', 'only the jobs of this process; ends with them', wholeNumber('--pid'))
    .option('--once', 'show one table and end')
    .addHelpText('after', NOTES)
    .action(async ({ json = false, once = false, pid }: CommonFlags & { once?: boolean; pid?: number }) =>
      finish(await runTop({ json, once, ...(pid !== undefined && { pid }) }))
    )
}

/**
 * `arbalest top`: shows the actors of this user's running jobs, every second. Leaves the terminal's modes unchanged, so that a signal may end it
 * at any time. Throws UNKNOWN_NAME for a process that has no job.
 */
async function runTop({ json, once, pid }: TopOptions, output: NodeJS.WriteStream = process.stdout): Promise<ExitCode> {
  const poller = new JobPoller()
  checkPid(pid, await poller.begin())
  const screen = new Screen(output, { isOverwritten: !once })
  for (;;) {
    await sleep(once ? INTERVAL_ONCE : INTERVAL)
    const jobs = await poller.poll(pid)
    const silent = poller.silent.filter((each) => pid === undefined || each === pid)
    if (pid !== undefined && jobs.length === 0 && silent.length === 0) return EXIT.done
    if (json) output.write(`${JSON.stringify({ event: 'top', jobs, ...(silent.length > 0 && { silent }) })}\n`)
    else screen.show(topTable(jobs, { colour: hasColours(output), silent }))
    if (once) return EXIT.done
  }
}

function checkPid(pid: number | undefined, known: readonly number[]): void {
  if (pid === undefined || known.includes(pid)) return
  if (known.length > 0) throw unknownName('--pid', pid, known.map(String))
  throw new ArbalestError('UNKNOWN_NAME', `--pid: received ${pid}; no job of this user runs here: start one`, { data: { pid } })
}

type Actor = JobRates['actors'][number]

const COLUMNS: readonly Column<Actor>[] = [
  { title: 'actor', cell: ({ name }) => name, side: 'left' },
  { title: 'state', cell: ({ busy, deferred }) => (busy ? 'in turn' : deferred > 0 ? 'at work' : 'idle'), side: 'left' },
  { title: 'thread', cell: ({ thread }) => String(thread) },
  { title: 'waiting', cell: ({ depth }) => count(depth) },
  { title: 'messages', cell: ({ messages }) => count(messages) },
  { title: '/s', cell: ({ rate }) => (rate < 10 ? rate.toFixed(1) : count(rate)) },
  { title: 'wait', cell: ({ wait }) => milliseconds(wait) },
  { title: 'turn', cell: ({ handle }) => milliseconds(handle) },
  { title: 'in turn', cell: ({ share }) => `${Math.round(100 * share)}%` },
  { title: 'restarts', cell: ({ restarts }) => count(restarts) },
  { title: 'heap', cell: ({ heap }) => (heap > 0 ? bytes(heap) : '-') }
]

/** The lines of all jobs with their actors, and of the processes that do not answer. */
export function topTable(
  jobs: readonly JobRates[],
  { colour, silent = [] }: { readonly colour: boolean; readonly silent?: readonly number[] }
): readonly string[] {
  const { bold, dim, yellow } = createColors(colour)
  if (jobs.length + silent.length === 0) return ['No job of this user runs on this machine.']
  const unheard = silent.map((pid) => yellow(`${pid}  does not answer: it is suspended, or busy`))
  const heard = jobs.flatMap(({ pid, name, seconds, detail, actors }, i) => {
    const [titles, ...rows] = tableLines(COLUMNS, actors)
    const marked = rows.map((row, actor) => (actors[actor]!.restarts > 0 ? yellow(row) : row))
    return [
      ...(i > 0 ? [''] : []),
      `${bold(`${pid}  ${external(name)}`)}  ${duration(seconds)}${detail === undefined ? '' : `  ${external(detail)}`}`,
      dim(titles),
      ...marked
    ]
  })
  return [...heard, ...unheard]
}

function milliseconds(value: number | null): string {
  if (value === null) return '-'
  if (value < 1) return `${(1000 * value).toFixed(0)} us`
  return value < 1000 ? `${value.toFixed(1)} ms` : `${(value / 1000).toFixed(1)} s`
}
