import { Random } from './random.js'

/** The rows of a data set that are trained on, and those that are held out, each in ascending order. */
export interface HeldOut {
  readonly train: Int32Array
  readonly test: Int32Array
}

/** Holds out a share of `count` rows at random, at least one, and never all. */
export function holdOut(count: number, share: number, seed: number): HeldOut {
  return part([Int32Array.from({ length: count }, (_, row) => row)], share, seed, 1)
}

/** Holds out a share of the rows of each class, but never all of its rows; of a small class none, unless nothing else is held out. */
export function holdOutOfClasses(labels: Int32Array, classes: number, share: number, seed: number): HeldOut {
  const rows: number[][] = Array.from({ length: classes }, () => [])
  for (const [row, label] of labels.entries()) rows[label]!.push(row)
  const found = part(
    rows.map((each) => Int32Array.from(each)),
    share,
    seed,
    0
  )
  return found.test.length > 0 ? found : holdOut(labels.length, share, seed)
}

function part(groups: readonly Int32Array[], share: number, seed: number, least: number): HeldOut {
  const train: Int32Array[] = []
  const test: Int32Array[] = []
  for (const [index, rows] of groups.entries()) {
    const order = new Random(seed, index).shuffle(rows)
    const held = Math.min(order.length - 1, Math.max(least, Math.round(order.length * share)))
    test.push(order.subarray(0, Math.max(0, held)))
    train.push(order.subarray(Math.max(0, held)))
  }
  return { train: joined(train), test: joined(test) }
}

function joined(parts: readonly Int32Array[]): Int32Array {
  const all = new Int32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const each of parts) {
    all.set(each, at)
    at += each.length
  }
  return all.sort()
}
