import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readIdxPair } from '../../../src/data/idx.js'
import { idxFile } from '../../data/support/files.js'
import { PackedContent } from '../support/packed.js'
import { refusingBy } from '../support/refusals.js'
import type { Target } from '../support/target.js'
import { checkDataset } from './check-dataset.js'

const SHAPE = [6, 4, 5] as const
const PIXELS = Uint8Array.from({ length: 120 }, (_, i) => (7 * i) % 256)

/** A pair of idx files, images and labels, one of them or both harmed, plain or packed. */
export function idxTarget(folder: string): Target {
  const images = new PackedContent(idxFile(SHAPE, PIXELS))
  const labels = new PackedContent(idxFile([6], Uint8Array.of(0, 1, 2, 3, 4, 5)))
  const [imageFile, labelFile] = [join(folder, 'images'), join(folder, 'labels')]
  return async (choice) => {
    const both = choice.happens(0.1)
    const onlyImages = choice.happens(0.6)
    writeFileSync(imageFile, both || onlyImages ? images.some(choice) : images.plain)
    writeFileSync(labelFile, both || !onlyImages ? labels.some(choice) : labels.plain)
    // Also as somebody reads them who expects images of another shape.
    const [height, width] = choice.happens(0.9) ? [4, 5] : [5, 4]
    checkDataset(await refusingBy(['DATA_CORRUPT', 'LABEL_OUT_OF_RANGE'], () => readIdxPair(imageFile, labelFile, [1, height, width], 10)))
  }
}
