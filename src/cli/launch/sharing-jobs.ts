import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { invalidOption } from '../../errors.js'
import { placed, type Host } from '../../hosts/hostfile.js'
import { canShrink, type Launch } from '../../hosts/launcher-line.js'
import type { LauncherProgram } from '../../hosts/launcher-program.js'
import { TENANTS } from '../../hosts/tenants.js'
import type { LaunchSettings } from '../../options/launch.js'
import { launchedEnvironment } from './launched-environment.js'

/** A job of a command line, and how many processes train it; undefined if the hosts decide. */
export interface LaunchedJob {
  readonly words: readonly string[]
  readonly processes?: number
}

/** A launcher starts Node.js itself, because a program between them, such as npx, would leave it behind when it is killed. */
const PACKAGE = fileURLToPath(new URL('../../../../', import.meta.url))
const PROGRAM = [process.execPath, join(PACKAGE, 'bin/arbalest.js')]

/**
 * The jobs of `train a.ts : -n 3 train b.ts`: each after a colon, with its number of processes if that is not the one of the first. Throws INVALID_OPTION where several of them cannot share
 * hubs.
 */
export function jobsIn(words: readonly string[], { processes, hubs, shrink }: LaunchSettings): readonly LaunchedJob[] {
  const parts: string[][] = [[]]
  for (const word of words) {
    if (word === ':') parts.push([])
    else parts.at(-1)!.push(word)
  }
  if (parts.length === 1) return [{ words, ...(processes !== undefined && { processes }) }]
  if (hubs === 0) throw invalidOption('hubs', hubs, 'give at least 1: several jobs of one launch have nothing to share but their hubs')
  if (shrink)
    throw invalidOption('shrink', shrink, 'leave it out: a job that shares its hubs ends when it loses a process, and the others go on')
  return parts.map((part, i) => jobOf(part, i, processes))
}

function jobOf(part: readonly string[], number: number, usual: number | undefined): LaunchedJob {
  const counted = part[0] === '-n' || part[0] === '--processes'
  const given = counted ? Number(part[1]) : usual
  const words = counted ? part.slice(2) : part
  const shown = counted ? (part[1] ?? '') : undefined
  if (given === undefined || !Number.isInteger(given) || given < 1)
    throw invalidOption('processes', shown, `give job ${number} a whole number from 1 on: -n before --, or behind the colon of the job`)
  if (words[0] !== 'train') throw invalidOption('command', words[0], `use train in job ${number}: only trainings share hubs`)
  return { words, processes: given }
}

export function programOf(words: readonly string[], json: boolean): readonly string[] {
  return [...PROGRAM, ...words, ...(json && !words.includes('--json') ? ['--json'] : [])]
}

interface SharingOptions {
  readonly hosts: readonly Host[]
  readonly hubs: number
  readonly launcher: LauncherProgram
  readonly json: boolean
}

/** Jobs with processes of their own, and the hubs of them all behind. Throws INVALID_OPTION for a launcher that would end all jobs with one. */
export function sharingLaunch(jobs: readonly LaunchedJob[], { hosts, hubs, launcher, json }: SharingOptions): Launch {
  if (!canShrink(launcher))
    throw invalidOption(
      'command',
      ':',
      `start each job by itself: ${launcher.kind} ${launcher.version} ends all jobs with one; only Open MPI from 5 on does not`
    )
  const counts = jobs.map(({ processes = 1 }) => processes)
  const processes = counts.reduce((sum, each) => sum + each, hubs)
  const hub = { processes: hubs, program: programOf(['hub'], json) }
  return {
    hosts: placed(processes, hosts),
    processes,
    program: hub.program,
    programs: [...jobs.map(({ words }, i) => ({ processes: counts[i]!, program: programOf(words, json) })), hub],
    env: launchedEnvironment({ [TENANTS]: counts.join(',') }),
    shrinks: true,
    isRoot: process.getuid?.() === 0
  }
}
