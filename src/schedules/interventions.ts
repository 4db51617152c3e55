import { isDeepStrictEqual } from 'node:util'
import { invalidOption, messageOf } from '../errors.js'
import { builtin } from '../node.js'
import type { RuleChange } from '../engine/contract.js'
import { LONGEST_PERIOD } from '../rules/rule.js'
import { Faults } from '../schema/faults.js'
import { group, option, required, variants, type GivenOptions, type ToldByName } from '../schema/group.js'
import { either, kind, list, oneOf, orNull, real, text, truth, whole } from '../schema/values.js'
import type { LearningRatePiece } from './pieces.js'
import { MOST_LEARNERS, withChange, type PopulationSchedule } from './population.js'
import type { PeriodChange } from './timeline.js'

/** Where a run stands while all its learners rest: before this round, which begins with this iteration. */
export interface RunPlace {
  readonly round: number
  readonly iteration: number
}

const factor = group({ factor: required(real({ min: 0 })) })

const settings = {
  /** A number: the learning rate from here to the run's end. `{ factor }`: all learning rates from here on times it, so that two factors multiply. */
  learningRate: option(either([real({ min: 0 }), factor], (value) => (typeof value === 'object' && value !== null ? 1 : 0))),
  /** How far a correction goes under `sma`; null for min(1/k, 1/2). */
  alpha: option(orNull(real({ above: 0, below: 1 }))),
  /** The central model's momentum under `sma`. */
  momentum: option(real({ min: 0, below: 1 })),
  /** Iterations of a round. */
  period: option(whole({ min: 1, max: LONGEST_PERIOD }))
}

const settingChange = group(settings)

/** What `set` changes of a run, from the next round on. */
export interface SettingChange extends GivenOptions<typeof settingChange>, ToldByName {}

const learners = required(whole({ min: 1, max: MOST_LEARNERS }))
const place = required(whole())
const anything = kind<unknown>(() => true, 'any value')

/** The changes by their kind, with the entries `Common` besides. */
function changes<const Common extends Record<string, ReturnType<typeof required<number, number>>>>(common: Common) {
  const of = <const Kind extends string>(name: Kind) => ({ ...common, kind: required(oneOf([name])) })
  return {
    set: group({ ...of('set'), ...settings }),
    resize: group({ ...of('resize'), learners }),
    replace: group({ ...of('replace'), place }),
    message: group({
      ...of('message'),
      place,
      method: required(text('the name of a method')),
      /** As they were sent, where JSON can write them. */
      args: option(list(anything, 'a list of arguments')),
      /** Else in the form of `node:v8`, in base64. */
      packed: option(text('arguments in base64'))
    }),
    tuning: group({ ...of('tuning'), on: required(truth()) }),
    pause: group(of('pause')),
    measure: group({ ...of('measure'), data: option(text('the name of a data set')) }),
    save: group(of('save')),
    model: group(of('model'))
  }
}

const runChange = variants('kind', changes({}))
const beforeRound = { round: required(whole()), iteration: required(whole()) }
const intervention = variants('kind', {
  ...changes(beforeRound),
  /** A learner has died: the rounds before `until` count it, and the buckets `brought` of the first of them have its contribution. */
  death: group({
    ...beforeRound,
    kind: required(oneOf(['death'])),
    place,
    /** Iterations of the round that it had ended. */
    iterations: required(whole()),
    until: required(whole()),
    brought: required(list(whole(), 'a list of buckets')),
    /** No other takes its place before the population changes. */
    vacant: option(truth())
  }),
  /** The learner that takes the place of one that has died takes part from this round on. */
  join: group({ ...beforeRound, kind: required(oneOf(['join'])), place })
})

/** What a program may ask of a run while it trains. */
export type RunChange = GivenOptions<typeof runChange>

/**
 * A change that was asked of a run, and the round before which it was made; or the death of a learner, and its successor's first round. Plain JSON: the list
 * of a run, given back, repeats it.
 */
export type Intervention = GivenOptions<typeof intervention>

/** A change of membership that happens by itself: a learner dies, or its successor joins. */
export type MembershipChange = OfKind<'death' | 'join'>

export const interventionList = list(intervention, "a list of interventions, as a run's `finished` event has it")

/** Checks a change that a program asks for. Throws INVALID_OPTION and UNKNOWN_NAME. */
export function checkedChange(change: unknown): RunChange {
  const faults = new Faults()
  const checked = faults.checked(runChange, change)
  faults.throwAny()
  return checked
}

/** The arguments of a message as a record keeps them. Throws INVALID_OPTION for what is no list, and for what cannot be kept. */
export function recordedArguments(args: readonly unknown[]): { readonly args: readonly unknown[] } | { readonly packed: string } {
  if (!Array.isArray(args)) throw invalidOption('args', args, 'give a list of arguments')
  if (isPlain(args)) return { args }
  try {
    return { packed: builtin.v8().serialize(args).toString('base64') }
  } catch (cause) {
    throw invalidOption('args', args, `send what can be copied and recorded (${messageOf(cause)})`)
  }
}

/** The arguments of a recorded message. */
export function argumentsOf({ args = [], packed }: { readonly args?: readonly unknown[]; readonly packed?: string }): readonly unknown[] {
  return packed === undefined ? args : (builtin.v8().deserialize(Buffer.from(packed, 'base64')) as unknown[])
}

function isPlain(args: readonly unknown[]): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(JSON.stringify(args)), args)
  } catch {
    return false
  }
}

export type OfKind<Kind> = Extract<Intervention, { readonly kind: Kind }>

export function isMembershipChange(each: Intervention): each is MembershipChange {
  return each.kind === 'death' || each.kind === 'join'
}

/** The deaths after which no other learner has begun in their place. */
export function openDeaths(all: readonly Intervention[]): readonly OfKind<'death'>[] {
  return interventionsOf(all, 'death').filter((death) => !all.slice(all.indexOf(death) + 1).some((each) => beginsIn(death.place, each)))
}

/** Whether another learner begins in this place, or none is there any more. */
function beginsIn(wanted: number, each: Intervention): boolean {
  if (each.kind === 'resize') return each.learners <= wanted
  return (each.kind === 'replace' || each.kind === 'death' || each.kind === 'join') && each.place === wanted
}

function interventionsOf<const Kind extends Intervention['kind']>(all: readonly Intervention[], wanted: Kind): readonly OfKind<Kind>[] {
  return all.filter((each): each is OfKind<Kind> => each.kind === wanted)
}

/** What they change of the rule, one after another. */
export function ruleChanges(all: readonly Intervention[]): readonly RuleChange[] {
  return interventionsOf(all, 'set').map(ruleChangeOf)
}

export function ruleChangeOf({ alpha, momentum, period }: SettingChange): RuleChange {
  return { ...(alpha !== undefined && { alpha }), ...(momentum !== undefined && { momentum }), ...(period !== undefined && { period }) }
}

export function periodChanges(all: readonly Intervention[]): readonly PeriodChange[] {
  return interventionsOf(all, 'set').flatMap(({ round, period }) => (period === undefined ? [] : [{ round, period }]))
}

/** The changes of a schedule but for those from which a program has taken over: what comes after it has let the tuner go on is the tuner's own. */
export function followedPopulation(schedule: PopulationSchedule, all: readonly Intervention[]): PopulationSchedule {
  return schedule.filter(({ round }) => round === 0 || isTuned(all.filter((each) => each.round <= round)))
}

/** The number of learners after what a program has changed of it. `ahead`: what a recorded run changes later. */
export function changedPopulation(
  schedule: PopulationSchedule,
  made: readonly Intervention[],
  ahead: readonly Intervention[] = []
): PopulationSchedule {
  const all = [...made, ...ahead].toSorted((a, b) => a.round - b.round)
  return interventionsOf(made, 'resize').reduce(
    (changed, { round, learners: count }) => withChange(changed, { round, learners: count }),
    followedPopulation(schedule, all)
  )
}

/** The first round from which the learning rate no longer follows its schedule; Infinity if it does. */
export function constantFrom(all: readonly Intervention[]): number {
  return interventionsOf(all, 'set').find(({ learningRate }) => typeof learningRate === 'number')?.round ?? Infinity
}

/** Whether a tuner may change the number of learners: a program that sets it takes over from the tuner. */
export function isTuned(all: readonly Intervention[]): boolean {
  const last = all.findLast((each) => each.kind === 'tuning' || each.kind === 'resize')
  return last?.kind === 'tuning' ? last.on : last === undefined
}

/** The messages in some rounds that the learner in this place got and that it may still remember: those since it began. */
export function messagesTo(
  wanted: number,
  all: readonly Intervention[],
  { from = 0, before = Infinity }: { readonly from?: number; readonly before?: number | undefined } = {}
): readonly { readonly method: string; readonly args: readonly unknown[] }[] {
  const begun = all.findLastIndex((each) => beginsIn(wanted, each))
  return interventionsOf(all.slice(begun + 1), 'message')
    .filter(({ place: to, round }) => to === wanted && round >= from && round < before)
    .map((message) => ({ method: message.method, args: argumentsOf(message) }))
}

/** The learning rates after what a program has changed of them. */
export function changedLearningRates(pieces: readonly LearningRatePiece[], all: readonly Intervention[]): readonly LearningRatePiece[] {
  return interventionsOf(all, 'set').reduce((changed, { iteration, learningRate }) => {
    if (learningRate === undefined) return changed
    const before = changed.flatMap((piece) => endedAt(piece, iteration))
    if (typeof learningRate === 'number') return [...before, { from: iteration, rates: Float32Array.of(learningRate) }]
    const scaled = (piece: LearningRatePiece) => ({ ...piece, rates: piece.rates.map((rate) => rate * learningRate.factor) })
    return [...before, ...begunAt(changed, iteration).map(scaled)]
  }, pieces)
}

/** The highest learning rate of a schedule after what a program has changed of it; undefined if it has changed nothing. `highest`: of the schedule itself. */
export function changedHighest(highest: number, all: readonly Intervention[]): number | undefined {
  const set = interventionsOf(all, 'set').flatMap(({ learningRate }) => learningRate ?? [])
  if (set.length === 0) return undefined
  return set.reduce<number>((rate, each) => (typeof each === 'number' ? each : rate * each.factor), highest)
}

/** The part of a piece before an iteration. */
function endedAt({ from, rates }: LearningRatePiece, iteration: number): LearningRatePiece[] {
  return from >= iteration ? [] : [{ from, rates: rates.slice(0, iteration - from) }]
}

/** The pieces from an iteration on. */
function begunAt(pieces: readonly LearningRatePiece[], iteration: number): LearningRatePiece[] {
  const later = pieces.filter(({ from }) => from > iteration)
  const present = pieces.findLast(({ from }) => from <= iteration)
  if (!present) return later
  // The last rate of a piece holds.
  const first = Math.min(iteration - present.from, present.rates.length - 1)
  return [{ from: iteration, rates: present.rates.slice(first) }, ...later]
}
