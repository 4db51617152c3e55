import { elements, NO_CLASS } from '../model/graph.js'
import type { StreamedSamples } from './dataset.js'

/** What a reader writes beside each sample: class numbers, below `classes`, or the numbers of a target. */
export interface WrittenTargets {
  readonly elements: number
  readonly classes?: number
}

/** What is wrong with the targets of a sample, and whether that is the reader's fault and not the sample's. */
export interface TargetsFault {
  readonly reason: string
  readonly isReaders: boolean
}

/** What no reader writes: by it one is known that has not written all. */
const UNWRITTEN = -(2 ** 31)

/** Undefined where all targets are in memory. */
export function writtenTargets({ label, target, targets, classes }: StreamedSamples): WrittenTargets | undefined {
  if (target) return targets ? undefined : { elements: elements(target) }
  return label && { elements: elements(label), classes: classes! }
}

/** Memory for the targets of a sample, from `offset` bytes on, in which a place that is not written shows. */
export function unwrittenTargets(
  { elements: length, classes }: WrittenTargets,
  memory: SharedArrayBuffer,
  offset: number
): Int32Array | Float32Array {
  return classes === undefined ? new Float32Array(memory, offset, length).fill(NaN) : new Int32Array(memory, offset, length).fill(UNWRITTEN)
}

/** Undefined if nothing is wrong. */
export function faultOfTargets(written: Int32Array | Float32Array, { classes }: WrittenTargets): TargetsFault | undefined {
  const isWrong = classes === undefined ? (each: number) => !Number.isFinite(each) : (each: number) => each < NO_CLASS || each >= classes
  const at = (written as Float32Array).findIndex(isWrong)
  if (at < 0) return undefined
  const found = written[at]!
  if (found === UNWRITTEN || Number.isNaN(found)) {
    const what = classes === undefined ? 'target' : 'class number'
    const fix = 'let it write all of them to its fourth argument'
    return { reason: `its reader writes no ${what} at place ${at} of ${written.length}; ${fix}`, isReaders: true }
  }
  const [what, allowed] =
    classes === undefined ? ['target', 'finite numbers are needed'] : ['class', `classes are 0 to ${classes - 1}, and ${NO_CLASS} for none`]
  return { reason: `its ${what} at place ${at} is ${found}; ${allowed}`, isReaders: false }
}
