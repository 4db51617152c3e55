import type { FinishedEvent, JobEvent } from '../observe/events.js'
import { changedValues } from '../observe/changed-values.js'
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
      const { learner, rank: place, reason, replacedBy, vacant, round } = event
      const unreplaced = vacant ? 'The others go on without it.' : 'Too many have failed in its place.'
      const next = replacedBy === null ? unreplaced : `Learner ${replacedBy} takes its place, from the central model.`
      return { seconds, kind: 'lost', title: `Learner ${learner} was lost in round ${round}`, detail: `${reason}. ${next}`, place }
    }
    case 'hostLost': {
      const { host, reason, hosts } = event
      const left = `${hosts === 1 ? '1 host goes' : `${hosts} hosts go`} on with ${learners(event.learners)}.`
      return { seconds, kind: 'lost', title: `Host ${host} was lost`, detail: `${reason}. ${left}` }
    }
    case 'sampleSkipped': {
      const { item, reason, skipped } = event
      // The first, the tenth, the hundredth: thousands would leave no room for anything else.
      if (!Number.isInteger(Math.log10(skipped))) return undefined
      const title = skipped === 1 ? 'A sample was skipped' : `${skipped.toLocaleString('en-US')} samples were skipped`
      return { seconds, kind: 'warning', title, detail: `${item}: ${reason}` }
    }
    case 'setAside': {
      const { checkpoints } = event
      const title = checkpoints.length === 1 ? 'A checkpoint was moved aside' : `${checkpoints.length} checkpoints were moved aside`
      const each = checkpoints.map(
        ({ folder, movedTo, reason }) => `${folder} to ${movedTo}: ${reason ?? 'the run does not go on from it'}`
      )
      return { seconds, kind: 'warning', title, detail: each.join('; ') }
    }
    case 'intervened': {
      const { intervention, error } = event
      const { kind, round } = intervention
      if (kind === 'death') return undefined
      if (kind === 'join') {
        const { place } = intervention
        return { seconds, kind: 'replaced', title: `Place ${place} has a learner again`, detail: `From round ${round} on`, place }
      }
      const failure = error ? `${error.code}: ${error.message}` : ''
      const detail = [changedValues(intervention), failure].filter(Boolean).join(' — ')
      return { seconds, kind: error ? 'warning' : 'change', title: `${kind} before round ${round}`, detail }
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
    case 'finished': {
      const { reason, weightsSha256, hint, checkpoints } = event
      const weights = weightsSha256 === '' ? 'Nothing was trained.' : `Weights sha256 ${weightsSha256.slice(0, 16)}…`
      const missing = checkpoints === 'incomplete' ? 'Not every checkpoint could be written.' : ''
      return { seconds, kind: 'end', title: ENDS[reason], detail: [missing, hint && `Hint: ${hint}.`, weights].filter(Boolean).join(' ') }
    }
    case 'failed':
      return { seconds, kind: 'failed', title: `Failed: ${event.code}`, detail: event.message }
    default:
      return undefined
  }
}

const ENDS = {
  completed: 'Completed',
  stopped: 'Stopped',
  accuracy: 'Ended: it reached the accuracy',
  loss: 'Ended: it reached the loss',
  seconds: 'Ended: its time was up',
  patience: 'Ended: it improved no more'
} as const satisfies Record<FinishedEvent['reason'], string>

const TUNER = { try: 'Tries', settle: 'Settles on', look: 'Looks again at', follow: 'Follows its schedule:' } as const

function learners(count: number): string {
  return `${count} ${count === 1 ? 'learner' : 'learners'}`
}
