/** The messages from the server to the page: plain data, and what both read from them. */

/** What has changed since the message before; the first one has everything. */
export interface DashboardUpdate {
  /** Of all runs that there are, if others were before: a folder of logs shows its newest ones. */
  readonly ids?: readonly string[]
  readonly runs: readonly RunUpdate[]
  /** All runs have ended: no further message comes. */
  readonly over?: true
}

export interface RunUpdate {
  readonly id: string
  /** All of them, whenever one has changed. */
  readonly facts?: RunFacts
  /** By name: `progress`, `evaluated`, `place 0` and so on. */
  readonly curves?: Readonly<Record<string, CurveUpdate>>
  /** The newest happenings; `from` counts all of the run before the first of these. */
  readonly happenings?: { readonly from: number; readonly items: readonly Happening[] }
}

/** Points of a curve: from this one on, those before stay. */
export interface CurveUpdate {
  readonly from: number
  /** A number for each column of the curve; null where there is none. */
  readonly points: readonly CurvePoint[]
}

export type CurvePoint = readonly (number | null)[]

/** The columns of each kind of curve. */
export const COLUMNS = {
  /** `seconds` since the run began, by the wall clock; the others are those of the event. */
  progress: ['iteration', 'seconds', 'loss', 'learningRate', 'imagesPerSecond', 'learners'],
  evaluated: ['iteration', 'seconds', 'testLoss', 'testAccuracy', 'testR2'],
  /** Of one place of the population: until when, its learner, what it did (`STATES`), the shares of its time that it waited and averaged, and its distance. */
  place: ['seconds', 'learner', 'state', 'waiting', 'averaging', 'distance'],
  /** Of jobs that share a device: until when, and the share of that time for which this job computed; null where jobs did not take turns. */
  device: ['seconds', 'share']
} as const

/** What a learner does, by number: the gravest of several that fall into one point is shown. */
export const STATES = ['training', 'resting', 'starting', 'vacant', 'dead'] as const
export type LearnerState = (typeof STATES)[number]
/** The state of a place without a learner, which may have had one. */
export const VACANT = STATES.indexOf('vacant')

/** Something that happened in a run, in words. */
export interface Happening {
  /** Since the run began. */
  readonly seconds: number
  readonly kind: 'tuner' | 'lost' | 'replaced' | 'change' | 'checkpoint' | 'warning' | 'end' | 'failed'
  readonly title: string
  readonly detail: string
  /** The learner's place, where it is about one. */
  readonly place?: number
}

/** What is known of a run besides its curves. */
export interface RunFacts {
  readonly name: string
  /** The options that tell it from the other runs of the page, in words; empty where none does. */
  readonly differs: string
  /** Since 1970, in seconds. */
  readonly began: number
  readonly state: 'preparing' | 'training' | 'paused' | 'completed' | 'stopped' | 'failed' | 'interrupted'
  readonly model: string
  readonly data: string
  readonly synchroniser: string
  readonly precision: string
  readonly batch: number
  readonly seed: number
  readonly parameters: number
  readonly samples: number
  readonly iterations: number
  readonly iteration: number
  readonly epoch: number
  readonly round: number
  /** Of training. */
  readonly seconds: number
  readonly loss: number | null
  readonly learningRate: number | null
  readonly imagesPerSecond: number | null
  readonly dataWait: number | null
  readonly testLoss: number | null
  readonly testAccuracy: number | null
  /** The share of samples whose class is among the likeliest, where the run counts them. */
  readonly testTopK: number | null
  /** Of models of texts. */
  readonly testPerplexity: number | null
  /** Of models that predict numbers: the share of the targets' variance that is explained, and the mean absolute error. */
  readonly testR2: number | null
  readonly testMae: number | null
  readonly learners: number
  /** Whether their number is found while they train. */
  readonly isTuned: boolean
  readonly deaths: number
  /** How each place of the population is now, in the columns of its lane: the last point of the lane may stand for minutes. */
  readonly places: readonly CurvePoint[]
  readonly hosts: number
  /** Whether learners, rounds and memory of the process are looked at while they change. */
  readonly isLive: boolean
  readonly rule: RuleFacts | null
  readonly memory: MemoryFacts | null
  readonly levels: LevelFacts | null
  /** How several hosts sum, in words. */
  readonly exchange: string | null
  /** Of jobs that share a device. */
  readonly sharing: string | null
}

/** Whether nothing more will come of a run. */
export function isOver({ state }: Pick<RunFacts, 'state'>): boolean {
  return state === 'completed' || state === 'stopped' || state === 'failed' || state === 'interrupted'
}

export interface RuleFacts {
  readonly kind: string
  /** Numbers and words by their names, as the rule has them at present. */
  readonly numbers: Readonly<Record<string, number | string | boolean | null>>
}

export interface MemoryFacts {
  /** Bytes by device: planned for its learners, and shared by them. */
  readonly devices: readonly { readonly learners: number; readonly learnerBytes: number; readonly sharedBytes: number }[]
  /** Of the process now; null if it is not this one. */
  readonly resident: number | null
  readonly heap: number | null
  /** Of a step that fits only by restoring activations: what it computes again and moves to the second tier, and the factor of its time that was predicted. */
  readonly restored: { readonly recomputedBytes: number; readonly movedBytes: number; readonly slowdown: number } | null
}

export interface LevelFacts {
  /** The cores of each device; empty where it may use all. */
  readonly devices: readonly (readonly number[])[]
  readonly names: readonly string[]
  readonly measured: readonly {
    readonly level: string
    readonly parts: number
    readonly bytesPerSecond: number
    readonly seconds: number
  }[]
  readonly reason: string
}
