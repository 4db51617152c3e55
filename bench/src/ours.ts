import { fileURLToPath } from 'node:url'
import type { Case } from './cases.js'
import { Side } from './side.js'

function node(file: string, args: readonly string[]): { program: string; args: readonly string[] } {
  return { program: process.execPath, args: [fileURLToPath(new URL(file, import.meta.url)), ...args] }
}

interface Ours {
  readonly backend?: 'cpu' | 'cuda'
  readonly lockstep?: boolean
}

/** Milliseconds in which learners are warm. On a GPU each shape of a convolution is searched for a plan, up to half a second. */
const WARM = { cpu: 120_000, cuda: 300_000 } as const

/** Learners with SMA at every step, in a process of their own. */
export function startOurs(one: Omit<Case, 'name'>, { backend = 'cpu', lockstep = false }: Ours = {}): Promise<Side> {
  const args = [one.model, String(one.batch), String(one.learners), one.precision, backend, String(lockstep)]
  return Side.start([node('learners-child.js', args)], WARM[backend])
}

/** Fused multiply-adds on so many cores at once: floating-point operations a second. */
export function startPeak(cores: number): Promise<Side> {
  return Side.start(Array.from({ length: cores }, () => node('peak-child.js', [])))
}
