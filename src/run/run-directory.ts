import type { RoundFigures } from '../engine/contract.js'
import { ArbalestError, invalidOption, unknownName } from '../errors.js'
import type { SynchroniserStatus } from '../protocols/protocols.js'
import type { RunActorName, RunCall, SendCall } from '../protocols/run-ref.js'
import type { Supervisor } from '../actors/supervisor.js'
import type { Synchroniser } from '../actors/synchroniser.js'
import type { ActorRef } from '../runtime/actor-ref.js'
import { deferred, type Deferred } from '../runtime/promises.js'
import { Faults } from '../schema/faults.js'
import { group, option, required } from '../schema/group.js'
import { kind, list, oneOf, text, truth, whole } from '../schema/values.js'
import type { ChangeRequests } from './changes/change-requests.js'
import type { RunHost } from './hosts/run-host.js'
import type { RunActors } from './start/run-actors.js'

/** What a message does: `look` is answered at once; `change` makes the learners rest first; `resume` ends a rest, after the changes that were asked for before it. */
type Effect = 'look' | 'change' | 'resume'

/** The messages of each actor. A learner has the methods of its class besides, each a change. */
const MESSAGES: Readonly<Record<RunActorName, Readonly<Record<string, Effect>>>> = {
  run: { stop: 'look' },
  synchroniser: {
    status: 'look',
    pause: 'change',
    resume: 'resume',
    central: 'look',
    model: 'change',
    roundsAfter: 'look',
    sampledRounds: 'look',
    set: 'change'
  },
  supervisor: { population: 'look', resize: 'change', replace: 'change', tuning: 'change', decisions: 'look', message: 'change' },
  learner: { status: 'look' },
  evaluator: { measure: 'change' },
  checkpoints: { save: 'change' },
  feeder: { status: 'look' }
}

const EFFECTS = new Map(Object.entries(MESSAGES).map(([actor, messages]) => [actor, new Map(Object.entries(messages))]))

/** The actors of a run that is under way, by name. */
export interface Addressees {
  readonly deliver: Readonly<Record<Exclude<RunActorName, 'run'>, (call: RunCall) => Promise<unknown>>>
  /** Delivers what changes the run, or ends its rest, in the order in which it was asked for; at once if omitted. */
  readonly inTurn?: (deliver: () => Promise<unknown>) => Promise<unknown>
  /** How many learners there are now. */
  readonly learners: () => number
  /** The status of the synchroniser, where this thread can look at it without a message: programs ask for it many times a second. */
  readonly status?: (() => SynchroniserStatus) | undefined
}

/** Who sends a call: a program from outside, or a learner of the run, which must not wait for its own rest. */
export type Sender = 'program' | 'learner'

const runCall = group({
  actor: required(oneOf(Object.keys(MESSAGES) as RunActorName[])),
  place: option(whole()),
  method: required(text('the name of a method')),
  args: option(
    list(
      kind<unknown>(() => true, 'any value'),
      'a list of arguments'
    ),
    { default: [] }
  ),
  told: option(truth(), { default: false })
})

/** A call that came as JSON from another process. Throws INVALID_OPTION and UNKNOWN_NAME. */
export function checkedCall(given: unknown): RunCall {
  const faults = new Faults()
  const { place, ...call } = faults.checked(runCall, given)
  faults.throwAny()
  return { ...call, ...(place !== undefined && { place }) }
}

/** Delivers the calls of programs and learners to the actors of a run, from before they exist until after they have gone. */
export class RunDirectory {
  readonly #first: number
  readonly #stop: () => void
  readonly #underWay = new CallsUnderWay()
  #addressees: Deferred<Addressees> = deferred()
  #now: Addressees | undefined
  #isOver: ArbalestError | undefined

  /** `learners`: how many there are before the run has started. `stop` ends the run at its next round. */
  constructor(learners: number, stop: () => void) {
    this.#first = learners
    this.#stop = stop
  }

  get learners(): number {
    return this.#now?.learners() ?? this.#first
  }

  /** The actors are there. A run that goes back starts others. */
  open(there: Addressees): void {
    this.#now = there
    this.#addressees.resolve(there)
  }

  /** The actors have gone; calls wait for others. */
  shut(): void {
    this.#now = undefined
    this.#addressees = deferred()
  }

  /** The run has ended: all calls reject, those that are under way too. */
  close(cause?: unknown): void {
    const message = 'actors: the run has ended; no answer will come'
    this.#isOver = new ArbalestError('ACTOR_GONE', message, cause === undefined ? {} : { cause })
    this.#underWay.rejectAll(this.#isOver)
  }

  /** The answer to a call. Rejects with UNKNOWN_NAME, INVALID_OPTION for a wrong place, INVALID_STATE, ACTOR_GONE, and with the actor's error. */
  call(call: RunCall, sender: Sender = 'program'): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const effect = effectOf(call)
      if (this.#isOver) throw this.#isOver
      if (call.actor === 'run') return resolve(this.#stop())
      if (call.method === 'status' && call.actor === 'synchroniser' && this.#now?.status) return resolve(this.#now.status())
      if (effect === 'change' && sender === 'learner' && !call.told) throw waitsForItself(call)
      const answer = this.#now
        ? delivered(call, effect, this.#now)
        : this.#addressees.promise.then((there) => delivered(call, effect, there))
      this.#underWay.add(answer, resolve, reject)
    })
  }
}

interface UnderWay {
  readonly reject: (error: unknown) => void
  place: number
}

/** The calls without an answer yet. An array: a set that shrinks and grows with each call costs more than the call. */
class CallsUnderWay {
  readonly #calls: UnderWay[] = []

  /** A call is settled by its answer, or by `rejectAll`. */
  add(answer: Promise<unknown>, resolve: (value: unknown) => void, reject: (error: unknown) => void): void {
    const call: UnderWay = { reject, place: this.#calls.length }
    this.#calls.push(call)
    answer.then(
      (value) => {
        this.#remove(call)
        resolve(value)
      },
      (error: unknown) => {
        this.#remove(call)
        reject(error)
      }
    )
  }

  rejectAll(error: ArbalestError): void {
    for (const { reject } of this.#calls) reject(error)
  }

  #remove({ place }: UnderWay): void {
    const last = this.#calls.pop()!
    if (place === this.#calls.length) return
    this.#calls[place] = last
    last.place = place
  }
}

function delivered(call: RunCall, effect: Effect, { deliver, learners, inTurn = (now) => now() }: Addressees): Promise<unknown> {
  const { actor, place } = call
  const there = learners()
  if (actor === 'learner' && !(Number.isSafeInteger(place) && place! >= 0 && place! < there)) {
    const fix = there === 1 ? 'use 0: the run has one learner' : `use a whole number from 0 to ${there - 1}: the run has ${there} learners`
    throw invalidOption('place', place, fix)
  }
  const now = async () => deliver[actor as Exclude<RunActorName, 'run'>](call)
  return effect === 'look' ? now() : inTurn(now)
}

function effectOf({ actor, method }: RunCall): Effect {
  const known = EFFECTS.get(actor)
  if (!known) throw unknownName('actor', actor, [...EFFECTS.keys()])
  const effect = known.get(method) ?? (actor === 'learner' ? 'change' : undefined)
  if (effect) return effect
  throw unknownName(`message to the ${actor}`, method, [...known.keys()])
}

function waitsForItself({ actor, method }: RunCall): ArbalestError {
  const message = `${actor}.${method}: received as an ask of a learner, which would wait for its own rest: use tell`
  return new ArbalestError('INVALID_STATE', message, { data: { actor, method } })
}

/** How the calls reach the actors of a run. `host`: the first one of several. */
export function addressees(
  { synchroniser, status, supervisor, learners, feedStatus }: RunActors,
  requests: ChangeRequests,
  population: { readonly learners: number },
  host?: Pick<RunHost, 'membersOfAll' | 'placeOf'>
): Addressees {
  const ofAllHosts = (own: SynchroniserStatus): SynchroniserStatus =>
    host
      ? {
          ...own,
          members: host.membersOfAll(own.members, population.learners),
          arrived: own.arrived.map((each) => host.placeOf(each))
        }
      : own
  const actor = (ref: ActorRef<Synchroniser> | ActorRef<Supervisor>) => {
    const ask = ref.askWith({ deadline: Infinity }) as unknown as Record<string, (...args: readonly unknown[]) => Promise<unknown>>
    return ({ method, args }: RunCall) => ask[method]!(...args)
  }
  const learner = async ({ place, method, args }: RunCall) => {
    if (method !== 'status') return supervisor.askWith({ deadline: Infinity }).message(place!, method, args)
    return (await learners.population()).places[place!]
  }
  const toSynchroniser = actor(synchroniser)
  const toSupervisor = actor(supervisor)
  const feeder = async () => {
    if (feedStatus) return feedStatus()
    throw new ArbalestError(
      'INVALID_STATE',
      'feeder: the run has none, because its samples lie in memory; only data that is read while the run trains has one'
    )
  }
  return {
    learners: () => population.learners,
    status: status && (() => ofAllHosts(status())),
    inTurn: (deliver) => requests.inTurn(deliver),
    deliver: {
      // With several hosts these two know their own alone.
      synchroniser: async (call) => {
        if (call.method === 'roundsAfter') return learners.figuresAfter(call.args[0] as number)
        const answer = await toSynchroniser(call)
        if (call.method === 'status') return ofAllHosts(answer as SynchroniserStatus)
        return call.method === 'sampledRounds' && host ? inRun(answer as readonly RoundFigures[], host) : answer
      },
      supervisor: (call) => (call.method === 'population' ? learners.population() : toSupervisor(call)),
      learner,
      evaluator: async ({ args: [data] }) => requests.request({ kind: 'measure', ...(data !== undefined && { data: data as string }) }),
      checkpoints: () => requests.request({ kind: 'save' }),
      feeder
    }
  }
}

/** The actors of a run on a host that is not its first one. `learners`: how many there are on all hosts. */
export function addresseesOnLeader(deliver: SendCall, learners: () => number): Addressees {
  return {
    learners,
    deliver: {
      synchroniser: deliver,
      supervisor: deliver,
      learner: deliver,
      evaluator: deliver,
      checkpoints: deliver,
      feeder: deliver
    }
  }
}

/** Rounds of the first host, whose learners have their numbers in the run. */
function inRun(rounds: readonly RoundFigures[], host: Pick<RunHost, 'placeOf'>): readonly RoundFigures[] {
  return rounds.map((round) => ({ ...round, members: round.members.map((each) => ({ ...each, learner: host.placeOf(each.learner) })) }))
}

/**
 * Delivers what learners send to other actors. While a recorded run is repeated, the changes that its learners told are those of the record: what they tell
 * again is ignored.
 */
export function fromLearner(directory: RunDirectory, { interventions }: { readonly interventions: readonly unknown[] }): SendCall {
  const isRepeated = interventions.length > 0
  return async (call) => {
    if (isRepeated && call.told) return undefined
    return directory.call(call, 'learner')
  }
}
