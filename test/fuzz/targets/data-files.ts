import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CIFAR_10, CIFAR_100_TEST, readCifar } from '../../../src/data/cifar.js'
import { readIdxPair } from '../../../src/data/idx.js'
import type { DatasetSpec } from '../../../src/engine/contract.js'
import { idxFile } from '../../data/support/files.js'
import type { Choice } from '../support/choice.js'
import { damaged } from '../support/damage.js'
import { junk } from '../support/junk.js'
import { PackedContent } from '../support/packed.js'
import { refusingBy } from '../support/refusals.js'
import type { Target } from '../support/target.js'
import { datasetFromText } from '../../../src/data/datasets.js'

const RECORDS = 3
const RECORD_PIXELS = Uint8Array.from({ length: 3072 }, (_, i) => i % 251)

/** Batches of CIFAR-10 and CIFAR-100 in their binary layouts, of a few records each. */
export function cifarTarget(folder: string): Target {
  const layouts = [CIFAR_10, CIFAR_100_TEST, { ...CIFAR_100_TEST, labelIndex: 0 }].map((layout) => ({
    layout: { ...layout, records: RECORDS },
    content: new PackedContent(
      Buffer.concat(
        Array.from({ length: RECORDS }, (_, r) => Buffer.from([...Array.from(layout.labels.keys(), (i) => 5 * r + i), ...RECORD_PIXELS]))
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

const IMAGES_SHAPE = [6, 4, 5] as const
const IMAGE_PIXELS = Uint8Array.from({ length: 120 }, (_, i) => (7 * i) % 256)

/** A pair of idx files, images and labels, of which one or both are damaged, plain or compressed. */
export function idxTarget(folder: string): Target {
  const images = new PackedContent(idxFile(IMAGES_SHAPE, IMAGE_PIXELS))
  const labels = new PackedContent(idxFile([6], Uint8Array.of(0, 1, 2, 3, 4, 5)))
  const [imageFile, labelFile] = [join(folder, 'images'), join(folder, 'labels')]
  return async (choice) => {
    const both = choice.happens(0.1)
    const onlyImages = choice.happens(0.6)
    writeFileSync(imageFile, both || onlyImages ? images.some(choice) : images.plain)
    writeFileSync(labelFile, both || !onlyImages ? labels.some(choice) : labels.plain)
    // Sometimes the reader expects another shape.
    const [height, width] = choice.happens(0.9) ? [4, 5] : [5, 4]
    checkDataset(await refusingBy(['DATA_CORRUPT', 'LABEL_OUT_OF_RANGE'], () => readIdxPair(imageFile, labelFile, [1, height, width], 10)))
  }
}

const TEXT = Buffer.from('Aber, aber! Ça va? Γειά σου 世界 𝔘nd \u{1f600}\r\n\0'.repeat(6))

/** A damaged text file, cut into windows of a valid or invalid length. */
export function textTarget(folder: string): Target {
  const file = join(folder, 'text')
  return async (choice) => {
    writeFileSync(file, choice.happens(0.1) ? TEXT : damaged(TEXT, choice))
    const options = { file, context: lengthOf(choice), testFraction: choice.happens(0.9) ? 0.1 + choice.share() / 2 : junk(choice) }
    const { train, test, classes } = await refusingBy(['DATA_CORRUPT', 'INVALID_OPTION'], () => datasetFromText(options as never))
    for (const part of [train, test]) checkWindows(part, classes)
  }
}

function lengthOf(choice: Choice): unknown {
  return choice.happens(0.8) ? 1 + choice.below(20) : junk(choice)
}

function checkWindows({ count, sample, samples, stride }: DatasetSpec, classes: number): void {
  if (count < 1 || (count - 1) * stride! + sample[0]! + 1 > samples.length)
    throw new Error(`${count} windows of ${sample[0]} in ${samples.length} tokens`)
  const outside = (samples as Int32Array).find((token) => !(token >= 0 && token < classes))
  if (outside !== undefined) throw new Error(`token ${outside} of ${classes}`)
}

/** Throws if an accepted data set is inconsistent: the engine would read past its end or train towards a class that does not exist. */
function checkDataset({ count, sample, samples, labels, classes }: DatasetSpec): void {
  const elements = sample.reduce((product, extent) => product * extent, count)
  if (samples.length !== elements) throw new Error(`${samples.length} bytes of samples where ${elements} are needed`)
  if (labels?.length !== count) throw new Error(`${labels?.length} labels for ${count} samples`)
  const outside = labels.find((label) => !(label >= 0 && label < classes!))
  if (outside !== undefined) throw new Error(`label ${outside} of ${classes} classes`)
}
