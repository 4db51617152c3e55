import { fileURLToPath } from 'node:url'
import type { Case } from './cases.js'
import { Side, type Command } from './side.js'

function node(file: string, args: readonly string[]): Command {
  return { program: process.execPath, args: [fileURLToPath(new URL(file, import.meta.url)), ...args] }
}

/** Milliseconds that learners may take to warm up. */
const WARM = 120_000

/** What a learner's memory may take: the options of these names. */
export interface OursOptions {
  readonly deviceMemory?: string
  readonly spill?: string
  /** What a window's seconds are: those of a clock if omitted, or those that processors work for the process. */
  readonly clock?: 'wall' | 'cpu'
  /** The cores that its threads may use; all of the machine if omitted. */
  readonly cores?: readonly number[]
}

/** Starts learners with SMA at every step, in a process of their own. */
export function startOurs(one: Omit<Case, 'name'> & OursOptions): Promise<Side> {
  const args = [
    one.model,
    String(one.batch),
    String(one.learners),
    one.precision,
    'cpu',
    'false',
    one.deviceMemory ?? 'auto',
    one.spill ?? '',
    one.clock ?? 'wall'
  ]
  const command = node('learners-child.js', args)
  return Side.start([one.cores === undefined ? command : keptTo(one.cores, command)], WARM)
}

/** util-linux has `taskset`; what it starts, and all threads of that, stay on the cores. */
function keptTo(cores: readonly number[], { program, args }: Command): Command {
  return { program: 'taskset', args: ['--cpu-list', cores.join(','), program, ...args] }
}

/** What chooses which activations are not held: our search by both ways, by one alone, or by moving where nothing is fetched ahead, or the rule of GeePS. */
export type Planner = 'ours' | 'recompute' | 'move' | 'without-prefetch' | 'geeps'

/** Starts training steps in one thread, without a run, within a limit of bytes. */
export function startStep(
  one: Omit<Case, 'name' | 'learners'> & { readonly activations: number; readonly spill: string },
  planner: Planner
): Promise<Side> {
  const args = [one.model, String(one.batch), one.precision, '1', String(one.activations), one.spill, planner]
  return Side.start([node('step-child.js', args)], WARM)
}

/** Starts a process per core that measures fused multiply-adds, in floating-point operations per second. */
export function startPeak(cores: number): Promise<Side> {
  return Side.start(Array.from({ length: cores }, () => node('peak-child.js', [])))
}
