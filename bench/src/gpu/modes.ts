/**
 * The modes in which PyTorch can train on a GPU; peers/pytorch_gpu.py describes each. `streams` and `stacked` train as many replicas as we have learners,
 * without averaging: on a stream each, and in one model by torch.func. `stacked-eager` is tried if the latter cannot be recorded as a graph.
 */
export const MODES = ['eager', 'graph', 'streams', 'stacked', 'stacked-eager', 'compile-graph', 'compile'] as const
export type Mode = (typeof MODES)[number]

/** The modes that are tried by default. */
export const USUAL_MODES: readonly Mode[] = ['eager', 'graph', 'streams', 'stacked', 'compile-graph', 'compile']

/**
 * The ways in which several learners of ours can run. Usually each has a stream of its own. In lockstep one launch takes the step of all. In a bank one
 * launch makes what all of its learners would launch.
 */
export const OWN_WAYS = {
  lockstep: { lockstep: true, banks: 0 },
  bank: { lockstep: false, banks: 1 },
  'two banks': { lockstep: false, banks: 2 }
} as const
export type OwnWay = keyof typeof OWN_WAYS

export const OWN_NAMES = Object.keys(OWN_WAYS) as readonly OwnWay[]

/** How our learners run. */
export interface How {
  readonly lockstep: boolean
  /** The number of banks; 0 for streams. */
  readonly banks: number
}

export const ON_STREAMS: How = { lockstep: false, banks: 0 }

export function isMode(word: string): word is Mode {
  return MODES.some((mode) => mode === word)
}

/** Seconds after which a mode that is not warm is given up. Compilation includes a search for kernels. */
export const WARM: Readonly<Record<Mode, number>> = {
  eager: 60,
  graph: 60,
  streams: 90,
  stacked: 90,
  'stacked-eager': 90,
  'compile-graph': 120,
  compile: 120
}

export function isCompiled(mode: Mode): boolean {
  return mode.startsWith('compile')
}

/** Whether it trains as many replicas as there are learners; the others are the same for any number. */
export function isReplicated(mode: Mode): boolean {
  return mode === 'streams' || mode.startsWith('stacked')
}
