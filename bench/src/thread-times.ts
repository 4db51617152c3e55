import { readdirSync, readFileSync } from 'node:fs'

const TASKS = '/proc/self/task'

/** Seconds of processor time that each thread of this process has taken, by its number. */
export function threadTimes(): Map<string, number> {
  return new Map(readdirSync(TASKS).flatMap((thread) => timeOf(thread)))
}

/** Of this process's first thread. */
export function mainThreadTime(): number {
  return Number(readFileSync(`${TASKS}/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e9
}

/** What the threads have taken since `before`, the most first. */
export function timesSince(before: ReadonlyMap<string, number>): number[] {
  return [...threadTimes()].map(([thread, time]) => time - (before.get(thread) ?? 0)).sort((a, b) => b - a)
}

/** Empty for a thread that has ended since the folder was read. */
function timeOf(thread: string): [string, number][] {
  try {
    return [[thread, Number(readFileSync(`${TASKS}/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e9]]
  } catch {
    return []
  }
}
