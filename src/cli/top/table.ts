import { createColors } from 'picocolors'
import { columns } from '../columns.js'
import { bytes, count, duration } from '../figures.js'
import type { SeenJob } from './looks.js'

type Actor = SeenJob['actors'][number]

/** Names to the left, figures to the right. */
const COLUMNS: readonly (readonly [title: string, cell: (actor: Actor) => string])[] = [
  ['actor', ({ name }) => name],
  ['state', ({ busy, promised }) => (busy ? 'in turn' : promised > 0 ? 'at work' : 'idle')],
  ['thread', ({ thread }) => String(thread)],
  ['waiting', ({ depth }) => count(depth)],
  ['messages', ({ messages }) => count(messages)],
  ['/s', ({ rate }) => (rate < 10 ? rate.toFixed(1) : count(rate))],
  ['wait', ({ wait }) => milliseconds(wait)],
  ['turn', ({ handle }) => milliseconds(handle)],
  ['in turn', ({ share }) => `${Math.round(100 * share)}%`],
  ['restarts', ({ restarts }) => count(restarts)],
  ['heap', ({ heap }) => (heap > 0 ? bytes(heap) : '-')]
]
const NAMES = 2

/** Every job with its actors, as lines. */
export function topTable(jobs: readonly SeenJob[], { colour }: { colour: boolean }): readonly string[] {
  const { bold, dim, yellow } = createColors(colour)
  if (jobs.length === 0) return ['No job of this user runs on this machine.']
  return jobs.flatMap(({ pid, name, seconds, actors }, i) => {
    const rows = [COLUMNS.map(([title]) => title), ...actors.map((actor) => COLUMNS.map(([, cell]) => cell(actor)))]
    const lines = columns(rows, NAMES)
    const marked = lines.map((line, row) => (row === 0 ? dim(line) : (actors[row - 1]?.restarts ?? 0) > 0 ? yellow(line) : line))
    return [...(i > 0 ? [''] : []), `${bold(`${pid}  ${name}`)}  ${duration(seconds)}`, ...marked]
  })
}

function milliseconds(value: number | null): string {
  if (value === null) return '-'
  if (value < 1) return `${(1000 * value).toFixed(0)} us`
  return value < 1000 ? `${value.toFixed(1)} ms` : `${(value / 1000).toFixed(1)} s`
}
