import { usableMemory } from '../engine/machine.js'
import { ArbalestError, shown } from '../errors.js'
import { NO_CLASS } from '../model/graph.js'

/** LABEL_OUT_OF_RANGE: a label that is not the number of a class. `index` counts the records of `source` from 0. */
export function labelOutOfRange(source: string, index: number, label: unknown, classes: number, many = false): ArbalestError {
  const none = many ? `, or ${NO_CLASS} where none counts` : ''
  const message = `${source}: record ${index} has label ${shown(label)}; labels must be whole numbers from 0 to ${classes - 1}${none}`
  return new ArbalestError('LABEL_OUT_OF_RANGE', message, { data: { source, record: index, label, classes } })
}

/** Labels as the engine takes them, `each` to a record. Throws LABEL_OUT_OF_RANGE unless each is the number of a class, or where a record has a list of them NO_CLASS. */
export function checkedLabels(
  labels: ArrayLike<number>,
  classes: number,
  source: string,
  { each, least }: { readonly each: number; readonly least: 0 | typeof NO_CLASS } = { each: 1, least: 0 }
): Int32Array {
  const checked = new Int32Array(labels.length)
  for (let i = 0; i < checked.length; i++) {
    const label = labels[i]!
    if (!Number.isInteger(label) || label < least || label >= classes)
      throw labelOutOfRange(source, Math.floor(i / each), label, classes, least === NO_CLASS)
    checked[i] = label
  }
  return checked
}

/** How many labels are the number of a class. */
export function labelsThatCount({ labels }: { readonly labels?: Iterable<number> | undefined }): number {
  let count = 0
  for (const label of labels ?? []) if (label !== NO_CLASS) count++
  return count
}

/** Zeroed memory; `purpose` names it in an error. Throws OUT_OF_MEMORY. */
export function allocate(bytes: number, purpose: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(bytes)
  } catch (cause) {
    const message = `${purpose}: ${bytes} bytes could not be allocated; free memory or use a smaller data set`
    throw new ArbalestError('OUT_OF_MEMORY', message, { cause, data: { purpose, bytes } })
  }
}

/** Throws OUT_OF_MEMORY if more bytes are wanted than the machine has free: without this the allocation would succeed, and the system would end the process when they are first written. */
export function checkFree(bytes: number, purpose: string): void {
  const free = usableMemory()
  if (bytes <= free) return
  const message = `${purpose}: they take ${bytes} bytes where ${free} are free; use fewer rows, or leave out columns with \`ignore\``
  throw new ArbalestError('OUT_OF_MEMORY', message, { data: { purpose, bytes, free } })
}
