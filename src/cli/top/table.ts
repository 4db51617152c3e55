import { createColors } from 'picocolors'
import { bytes, count, duration } from '../figures.js'
import { tableLines, type Column } from '../table.js'
import type { SeenJob } from './looks.js'

type Actor = SeenJob['actors'][number]

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

/** Every job with its actors, as lines. */
export function topTable(jobs: readonly SeenJob[], { colour }: { colour: boolean }): readonly string[] {
  const { bold, dim, yellow } = createColors(colour)
  if (jobs.length === 0) return ['No job of this user runs on this machine.']
  return jobs.flatMap(({ pid, name, seconds, actors }, i) => {
    const [titles, ...rows] = tableLines(COLUMNS, actors)
    const marked = rows.map((row, actor) => (actors[actor]!.restarts > 0 ? yellow(row) : row))
    return [...(i > 0 ? [''] : []), `${bold(`${pid}  ${name}`)}  ${duration(seconds)}`, dim(titles), ...marked]
  })
}

function milliseconds(value: number | null): string {
  if (value === null) return '-'
  if (value < 1) return `${(1000 * value).toFixed(0)} us`
  return value < 1000 ? `${value.toFixed(1)} ms` : `${(value / 1000).toFixed(1)} s`
}
