import type { JobEvent } from '../observe/events.js'
import type { Happening } from './page/wire.js'

/** What the page tells of an event in words; undefined for one that its curves show. `seconds` since the run began. */
export function happeningOf(
  event: JobEvent | { readonly event: 'failed'; readonly code: string; readonly message: string },
  seconds: number
): Happening | undefined {
  switch (event.event) {
    case 'population': {
      const { action, from, to, reason, figures } = event
      const measured = figures
        .toSorted((a, b) => a.learners - b.learners)
        .map((each) => `${Math.round(each.samplesPerSecond).toLocaleString('en-US')} with ${each.learners}`)
      const title = from === to ? learners(to) : `${from} → ${learners(to)}`
      return {
        seconds,
        kind: 'tuner',
        title: `${TUNER[action]} ${title}`,
        detail: [reason, ...(measured.length > 0 ? [`samples/s: ${measured.join(', ')}`] : [])].filter(Boolean).join(' — ')
      }
    }
    case 'learnerLost': {
      const { learner, rank: place, reason, replacedBy, round } = event
      const next = replacedBy === null ? 'The others go on without it.' : `Learner ${replacedBy} takes its place, from the central model.`
      return { seconds, kind: 'lost', title: `Learner ${learner} was lost in round ${round}`, detail: `${reason}. ${next}`, place }
    }
    case 'hostLost':
      return { seconds, kind: 'lost', title: `Host ${event.host} was lost`, detail: event.reason }
    case 'intervened': {
      const { kind, round, iteration: _, ...values } = event.intervention
      if (kind === 'death') return undefined
      const detail = Object.keys(values).length > 0 ? JSON.stringify(values) : ''
      if (kind === 'join') {
        const { place } = values as { readonly place: number }
        return { seconds, kind: 'replaced', title: `Place ${place} has a learner again`, detail: `From round ${round} on`, place }
      }
      return { seconds, kind: 'change', title: `${kind} before round ${round}`, detail }
    }
    case 'checkpoint': {
      const { reason, folder, iteration } = event
      return {
        seconds,
        kind: reason === null ? 'checkpoint' : 'warning',
        title: `Checkpoint of iteration ${iteration}`,
        detail: reason ?? folder ?? ''
      }
    }
    case 'warning':
      return { seconds, kind: 'warning', title: 'Warning', detail: event.message }
    case 'wentBack':
      return {
        seconds,
        kind: 'warning',
        title: `Went back: the loss was not finite at iteration ${event.iteration}`,
        detail: `Learning rates times ${event.learningRateScale}`
      }
    case 'resumed':
      return { seconds, kind: 'checkpoint', title: `Resumed at iteration ${event.iteration}`, detail: event.folder }
    case 'finished':
      return {
        seconds,
        kind: 'end',
        title: event.reason === 'completed' ? 'Completed' : `Ended: ${event.reason}`,
        detail: `weights sha256 ${event.weightsSha256.slice(0, 16)}…`
      }
    case 'failed':
      return { seconds, kind: 'failed', title: `Failed: ${event.code}`, detail: event.message }
    default:
      return undefined
  }
}

const TUNER = { try: 'Tries', settle: 'Settles on', look: 'Looks again at', follow: 'Follows its schedule:' } as const

function learners(count: number): string {
  return `${count} ${count === 1 ? 'learner' : 'learners'}`
}
