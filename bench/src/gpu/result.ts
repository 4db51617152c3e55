import { rateUnitOf, type Case } from '../cases.js'
import { subjectOf } from './contest.js'
import { isOutOfMemory } from './memory.js'
import { MODES, OWN_NAMES, isReplicated, type Mode, type OwnWay } from './modes.js'
import type { Compared, Entry, Finding, Rate, What } from './journal.js'

/** All results of a case. */
export interface Result {
  readonly bench: 'gpu'
  readonly case: string
  readonly peer: 'pytorch'
  readonly unit: 'images/s' | 'tokens/s'
  readonly ours?: Rate
  /** Our rate with the learners in other ways than on streams, if there are several. */
  readonly ways: Readonly<Partial<Record<OwnWay, Rate>>>
  /** The rate of each mode of the peer that was tried, or the reason of its failure. */
  readonly peerModes: Readonly<Partial<Record<Mode, Rate | string>>>
  /** Our learners and the peer's fastest mode in turns. */
  readonly compared?: Compared
  /** The measurements of our side that failed, and why. */
  readonly failures: Readonly<Partial<Record<What, string>>>
}

/** The result of a case, from the findings that `known` returns. */
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
  const [ours, compared] = [rateOf('ours'), find('compared')]
  const ways = OWN_NAMES.map((way) => [way, rateOf(way)] as const)
  const tried = MODES.filter((mode) => !isReplicated(mode) || one.learners > 1).map(
    (mode) => [mode, rateOf(mode) ?? failureOf(mode)] as const
  )
  const failed = (['ours', ...OWN_NAMES, 'compared'] as const).map((what) => [what, failureOf(what)] as const)
  return {
    bench: 'gpu',
    case: one.name,
    peer: 'pytorch',
    unit: rateUnitOf(one.model),
    ...(ours && { ours }),
    ways: Object.fromEntries(ways.filter(([, rate]) => rate !== undefined)),
    peerModes: Object.fromEntries(tried.filter(([, found]) => found !== undefined)),
    ...(compared && 'compared' in compared && { compared: compared.compared }),
    failures: Object.fromEntries(failed.filter(([, why]) => why !== undefined))
  }
}

/**
 * Whether no measurement is missing. A lack of memory is a finding: too many learners for the GPU, or a mode of PyTorch that runs alone but not beside
 * our learners. `alone`: there is no peer.
 */
export function isWhole({ compared, ours, failures }: Result, alone = false): boolean {
  const found = Object.entries(failures)
  const tooLarge = ([what, why]: [string, string]): boolean =>
    why.includes('OUT_OF_MEMORY: ') || (what === 'compared' && isOutOfMemory(why))
  return found.length === 0 ? (alone ? ours : compared) !== undefined : found.every(tooLarge)
}

/** A result as it is committed, with the circumstances of its measurement. */
export type SavedResult = Result & Pick<Entry, 'commit' | 'device' | 'driver' | 'torch' | 'date' | 'seed'>

/**
 * One result for each case of a journal, in the order in which the cases were begun: that of the commit, the GPU and the PyTorch with which the case was
 * measured last.
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
