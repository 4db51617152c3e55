import type { Case } from '../cases.js'
import { subjectOf } from './contest.js'
import { isOutOfMemory } from './memory.js'
import { MODES, isStacked, type Mode } from './modes.js'
import type { Compared, Entry, Finding, Rate, What } from './journal.js'

/** What is known of a case. */
export interface Result {
  readonly bench: 'gpu'
  readonly case: string
  readonly peer: 'pytorch'
  readonly unit: 'images/s'
  readonly ours?: Rate
  /** Of ours with the learners in lockstep, where there are several. */
  readonly lockstep?: Rate
  /** Each of the peer's modes that was tried, or why it did not run. */
  readonly peerModes: Readonly<Partial<Record<Mode, Rate | string>>>
  /** Ours and the fastest of them in turns. */
  readonly compared?: Compared
  /** What of ours could not be measured, and why. */
  readonly failures: Readonly<Partial<Record<What, string>>>
}

/** Of a case, by what `known` has of it. */
export function resultOf(one: Case, known: (subject: string, what: What) => Finding | undefined): Result {
  const find = (what: What): Finding | undefined => known(subjectOf(one, what), what)
  const rateOf = (what: What): Rate | undefined => {
    const found = find(what)
    return found && 'rate' in found ? found.rate : undefined
  }
  const failureOf = (what: What): string | undefined => {
    const found = find(what)
    return found && 'failure' in found ? found.failure : undefined
  }
  const [ours, lockstep, compared] = [rateOf('ours'), rateOf('lockstep'), find('compared')]
  const tried = MODES.filter((mode) => !isStacked(mode) || one.learners > 1).map((mode) => [mode, rateOf(mode) ?? failureOf(mode)] as const)
  const failed = (['ours', 'lockstep', 'compared'] as const).map((what) => [what, failureOf(what)] as const)
  return {
    bench: 'gpu',
    case: one.name,
    peer: 'pytorch',
    unit: 'images/s',
    ...(ours && { ours }),
    ...(lockstep && { lockstep }),
    peerModes: Object.fromEntries(tried.filter(([, found]) => found !== undefined)),
    ...(compared && 'compared' in compared && { compared: compared.compared }),
    failures: Object.fromEntries(failed.filter(([, why]) => why !== undefined))
  }
}

/**
 * Whether there is nothing more to find. More learners than the GPU has memory for are found to be so, and so is a PyTorch that runs by itself and not
 * in the comparison.
 */
export function isWhole({ compared, failures }: Result): boolean {
  const found = Object.entries(failures)
  const tooLarge = ([what, why]: [string, string]): boolean =>
    why.includes('OUT_OF_MEMORY: ') || (what === 'compared' && isOutOfMemory(why))
  return found.length === 0 ? compared !== undefined : found.every(tooLarge)
}

/** A result as it is committed: with all that is needed to judge it. */
export type SavedResult = Result & Pick<Entry, 'commit' | 'device' | 'driver' | 'torch' | 'date' | 'seed'>

/**
 * What a journal has, a result a case: of the commit, the GPU and the PyTorch with which the case was measured last, in the order in which cases
 * were begun.
 */
export function savedResults(entries: readonly Entry[], cases: (name: string) => Case): readonly SavedResult[] {
  const ofAll = entries.filter(({ subject }) => isCase(subject))
  return [...new Set(ofAll.map(({ subject }) => subject))].map((name) => {
    const { commit, device, driver, torch, date, seed } = ofAll.findLast(({ subject }) => subject === name)!
    const own = entries.filter((entry) => entry.commit === commit && entry.device === device && entry.torch === torch)
    const known = (subject: string, what: What): Finding | undefined => {
      const found = own.filter((entry) => entry.subject === subject && entry.what === what)
      return found.findLast((entry) => !('failure' in entry)) ?? found.at(-1)
    }
    return { commit, device, driver, torch, date, seed, ...resultOf(cases(name), known) }
  })
}

function isCase(subject: string): boolean {
  return / k\d+ /.test(subject)
}
