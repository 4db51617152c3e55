import { fileURLToPath } from 'node:url'
import type { Case } from './cases.js'
import { Side } from './side.js'

function node(file: string, args: readonly string[]): { program: string; args: readonly string[] } {
  return { program: process.execPath, args: [fileURLToPath(new URL(file, import.meta.url)), ...args] }
}

/** Milliseconds in which learners are warm. */
const WARM = 120_000

/** Learners with SMA at every step, in a process of their own. */
export function startOurs(one: Omit<Case, 'name'>): Promise<Side> {
  const args = [one.model, String(one.batch), String(one.learners), one.precision, 'cpu', 'false']
  return Side.start([node('learners-child.js', args)], WARM)
}

/** Fused multiply-adds on so many cores at once: floating-point operations a second. */
export function startPeak(cores: number): Promise<Side> {
  return Side.start(Array.from({ length: cores }, () => node('peak-child.js', [])))
}
