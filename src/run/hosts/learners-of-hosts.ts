import type { Findings } from '../../actors/evaluator.js'
import type { RepeatedMessage } from '../../actors/learner.js'
import type { RoundFigures } from '../../engine/contract.js'
import type { MessageOutcome } from '../../learner/learner-plugin.js'
import type { PopulationStatus } from '../../protocols/protocols.js'
import { invalidOption } from '../../errors.js'
import { poll } from '../../poll.js'
import type { RunLearners } from '../start/run-learners.js'
import type { Leader } from './leader.js'
import type { RunHost } from './run-host.js'

/** The learners of a host, with their places and numbers there, and what is known of its rounds. */
export interface HostLearners extends RunLearners {
  /** As `roundsAfter` of the synchroniser. */
  figuresAfter(round: number): Promise<readonly RoundFigures[]>
  /** What the evaluators of the host find in its share of the test samples, at a rest. */
  findings(): Promise<readonly Findings[]>
}

/** The calls that a host answers at once; all others come one after another, at a rest. */
export const ANSWERED_AT_ONCE: ReadonlySet<string> = new Set<keyof HostLearners>(['population', 'prepare', 'figuresAfter'])

/** The learners of all hosts, as the first host reaches them: those in other places than its own by calls. */
export class LearnersOfHosts implements HostLearners {
  readonly #host: RunHost
  readonly #leader: Leader
  /** By rank, those that are there. */
  readonly #hosts: Map<number, HostLearners>
  /** Measures the shares of hosts that are lost. */
  readonly #substitutes: (() => Promise<readonly Findings[]>)[] = []
  #learners: number

  /** `learners`: how many there are at first. */
  constructor(host: RunHost, leader: Leader, own: HostLearners, learners: number) {
    this.#host = host
    this.#leader = leader
    this.#hosts = new Map([[0, own], ...host.ranks.slice(1).map((rank) => [rank, callsAt(leader, rank)] as const)])
    this.#learners = learners
  }

  /** How many there are. */
  get learners(): number {
    return this.#learners
  }

  /**
   * A host is lost: its learners end, and all places are dealt out among the others. `findings` measures its share of the test samples from now on. The
   * learners rest.
   */
  lose(rank: number, findings: () => Promise<readonly Findings[]>): void {
    this.#learners -= this.#host.learnersOf(this.#learners, rank)
    this.#host.lose(rank)
    this.#hosts.delete(rank)
    this.#substitutes.push(findings)
    this.#leader.order({ order: 'lost', rank })
    this.#leader.order({ order: 'resized', learners: this.#learners })
  }

  /** If one host cannot start its part, the learners that others have started end. */
  async prepare(learners: number): Promise<void> {
    const prepare = (count: number) => this.#onAll((each, rank) => each.prepare(this.#host.learnersOf(count, rank)))
    try {
      await prepare(learners)
    } catch (error) {
      await prepare(this.#learners).catch(() => {})
      throw error
    }
  }

  /** Nothing has changed on any host if this rejects because a learner cannot be started. */
  async resizeNow(learners: number): Promise<void> {
    const { size } = this.#host
    if (learners < size) throw invalidOption('learners', learners, `use at least ${size}: one for each host`)
    await this.prepare(learners)
    await this.#onAll((each, rank) => each.resizeNow(this.#host.learnersOf(learners, rank)))
    this.#learners = learners
    this.#leader.order({ order: 'resized', learners })
  }

  async population(): Promise<PopulationStatus> {
    const all = await this.#onAll((each) => each.population())
    const ranks = [...this.#hosts.keys()]
    const places = all.flatMap(({ places: own }, i) =>
      own.map((status) => ({
        ...status,
        place: this.#host.placeOf(status.place, ranks[i]),
        learner: status.learner === null ? null : this.#host.placeOf(status.learner, ranks[i])
      }))
    )
    return { learners: places.length, places: places.toSorted((a, b) => a.place - b.place) }
  }

  async replaceNow(place: number): Promise<number> {
    return this.#host.placeOf(await this.#hostOf(place).replaceNow(this.#host.ownPlace(place)), this.#host.rankOf(place))
  }

  messageNow(place: number, method: string, args: readonly unknown[]): Promise<MessageOutcome> {
    return this.#hostOf(place).messageNow(this.#host.ownPlace(place), method, args)
  }

  repeatNow(place: number, messages: readonly RepeatedMessage[]): Promise<void> {
    return this.#hostOf(place).repeatNow(this.#host.ownPlace(place), messages)
  }

  /** Of the rounds that all hosts know: they may have begun to record at different ones. */
  figuresAfter(round: number): Promise<readonly RoundFigures[]> {
    return poll(async () => {
      const [first, ...others] = await this.#onAll((each) => each.figuresAfter(round))
      const all = first!.flatMap((figures) => {
        const found = others.flatMap((each) => each.find((other) => other.round === figures.round) ?? [])
        return found.length < others.length ? [] : [this.#together([figures, ...found])]
      })
      return all.length > 0 && all
    })
  }

  async findings(): Promise<readonly Findings[]> {
    const found = await this.#onAll((each) => each.findings())
    return [...found.flat(), ...(await Promise.all(this.#substitutes.map((measure) => measure()))).flat()]
  }

  #together(figures: readonly RoundFigures[]): RoundFigures {
    const ranks = [...this.#hosts.keys()]
    const members = figures.flatMap(({ members: own }, i) =>
      own.map((member) => ({ ...member, learner: this.#host.placeOf(member.learner, ranks[i]) }))
    )
    const told = figures.filter(({ loss }) => !Number.isNaN(loss))
    const learners = told.reduce((sum, { members: own }) => sum + own.length, 0)
    return {
      ...figures[0]!,
      seconds: Math.max(...figures.map(({ seconds }) => seconds)),
      loss: learners === 0 ? NaN : told.reduce((sum, { loss, members: own }) => sum + loss * own.length, 0) / learners,
      members: members.toSorted((a, b) => a.learner - b.learner)
    }
  }

  #hostOf(place: number): HostLearners {
    if (Number.isSafeInteger(place) && place >= 0 && place < this.#learners) return this.#hosts.get(this.#host.rankOf(place))!
    const fix = `use a whole number from 0 to ${this.#learners - 1}: one for each learner`
    throw invalidOption('place', place, fix)
  }

  /** The answers of all hosts, by rank. Rejects, once all have answered, with the first error. */
  async #onAll<Answer>(ask: (each: HostLearners, rank: number) => Promise<Answer>): Promise<Answer[]> {
    const outcomes = await Promise.allSettled([...this.#hosts].map(([rank, each]) => ask(each, rank)))
    return outcomes.map((outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value
    })
  }
}

function callsAt(leader: Leader, rank: number): HostLearners {
  const ask =
    (method: keyof HostLearners) =>
    (...args: readonly unknown[]) =>
      leader.ask(rank, method, args) as Promise<never>
  return {
    population: ask('population'),
    prepare: ask('prepare'),
    resizeNow: ask('resizeNow'),
    replaceNow: ask('replaceNow'),
    messageNow: ask('messageNow'),
    repeatNow: ask('repeatNow'),
    figuresAfter: ask('figuresAfter'),
    findings: ask('findings')
  }
}
