import { ArbalestError } from '../errors.js'

/** A file that is not what it says it is. */
export function corrupt(file: string, expected: string, found: string, options: { cause?: unknown; mend?: string } = {}): ArbalestError {
  const { cause, mend = 'replace the file with a whole copy' } = options
  return new ArbalestError('DATA_CORRUPT', `${file}: expected ${expected}, found ${found}; ${mend}`, {
    cause,
    data: { file, expected, found }
  })
}

/** A label that names no class; `at` counts records of `source` from 0. */
export function labelOutOfRange(source: string, at: number, label: number, classes: number): ArbalestError {
  const message = `${source}: record ${at} has label ${label}; labels must be whole numbers from 0 to ${classes - 1}`
  return new ArbalestError('LABEL_OUT_OF_RANGE', message, { data: { source, record: at, label, classes } })
}

/** Labels as the engine takes them, each checked against the number of classes. Throws LABEL_OUT_OF_RANGE. */
export function checkedLabels(labels: ArrayLike<number>, classes: number, source: string): Int32Array {
  const checked = new Int32Array(labels.length)
  for (let i = 0; i < checked.length; i++) {
    const label = labels[i]!
    if (!Number.isInteger(label) || label < 0 || label >= classes) throw labelOutOfRange(source, i, label, classes)
    checked[i] = label
  }
  return checked
}

/** Memory for `bytes` bytes, zeroed. Throws OUT_OF_MEMORY. */
export function allocate(bytes: number, purpose: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(bytes)
  } catch (cause) {
    throw new ArbalestError('OUT_OF_MEMORY', `${purpose}: ${bytes} bytes could not be allocated; free memory or use a smaller data set`, {
      cause,
      data: { purpose, bytes }
    })
  }
}
