/**
 * How PyTorch may train on a GPU; `stacked` are as many replicas as we have learners, by torch.func, without averaging, and `stacked-eager` is
 * what is tried where those cannot be recorded. peers/pytorch_gpu.py tells what each is.
 */
export const MODES = ['eager', 'graph', 'stacked', 'stacked-eager', 'compile-graph', 'compile'] as const
export type Mode = (typeof MODES)[number]

/** Those that are tried unless others are named. */
export const USUAL_MODES: readonly Mode[] = ['eager', 'graph', 'stacked', 'compile-graph', 'compile']

export function isMode(word: string): word is Mode {
  return MODES.some((mode) => mode === word)
}

/** Seconds in which a mode is warm, or is given up: what is compiled is searched for, too. */
export const WARM: Readonly<Record<Mode, number>> = {
  eager: 60,
  graph: 60,
  stacked: 90,
  'stacked-eager': 90,
  'compile-graph': 120,
  compile: 120
}

export function isCompiled(mode: Mode): boolean {
  return mode.startsWith('compile')
}

/** Whether it trains as many replicas as there are learners; the others are the same for any number. */
export function isStacked(mode: Mode): boolean {
  return mode.startsWith('stacked')
}
