import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CIFAR_10, CIFAR_100_TEST, readCifar } from '../../../src/data/cifar.js'
import { PackedContent } from '../support/packed.js'
import { refusingBy } from '../support/refusals.js'
import type { Target } from '../support/target.js'
import { checkDataset } from './check-dataset.js'

const RECORDS = 3
const PIXELS = Uint8Array.from({ length: 3072 }, (_, i) => i % 251)

/** Batches of CIFAR-10 and CIFAR-100 in their binary layouts, of a few records each. */
export function cifarTarget(folder: string): Target {
  const layouts = [CIFAR_10, CIFAR_100_TEST, { ...CIFAR_100_TEST, taken: 0 }].map((layout) => ({
    layout: { ...layout, records: RECORDS },
    content: new PackedContent(
      Buffer.concat(
        Array.from({ length: RECORDS }, (_, r) => Buffer.from([...Array.from(layout.labels.keys(), (i) => 5 * r + i), ...PIXELS]))
      )
    )
  }))
  const files = [join(folder, 'batch 1'), join(folder, 'batch 2')]
  return async (choice) => {
    const { layout, content } = choice.among(layouts)
    const some = files.slice(0, 1 + choice.below(2))
    for (const file of some) writeFileSync(file, content.some(choice))
    checkDataset(await refusingBy(['DATA_CORRUPT', 'LABEL_OUT_OF_RANGE'], () => readCifar(some, layout)))
  }
}
