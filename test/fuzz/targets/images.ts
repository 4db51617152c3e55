import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ImageRecipe } from '../../../src/data/images/image-recipe.js'
import { imageFolderPlan } from '../../../src/data/images/image-options.js'
import readSamples from '../../../src/data/reader-thread.js'
import { ArbalestError } from '../../../src/errors.js'
import { unpackError } from '../../../src/runtime/errors-across-threads.js'
import { photo } from '../../data/support/photos.js'
import type { Choice } from '../support/choice.js'
import { damaged } from '../support/damage.js'
import { refusingBy } from '../support/refusals.js'
import type { Target } from '../support/target.js'
import { readImage } from '../../../src/data/datasets.js'

const READER = new URL('../../../src/data/images/image-reader.js', import.meta.url).href
const SIDE = 16

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30" viewBox="0 0 40 30"><rect width="20" height="30" fill="#c33"/></svg>`

/** Image files, harmed: as `predict` reads one, and as the threads of a folder of images do. */
export async function imagesTarget(folder: string): Promise<Target> {
  const picture = photo('dawn', 1)
  const whole = await Promise.all([
    picture.clone().jpeg().toBuffer(),
    picture.clone().jpeg({ progressive: true }).withMetadata({ orientation: 6 }).toBuffer(),
    picture.clone().png().toBuffer(),
    picture.clone().png({ palette: true }).toBuffer(),
    picture.clone().webp().toBuffer(),
    picture.clone().webp({ lossless: true }).toBuffer(),
    picture.clone().gif().toBuffer(),
    picture.clone().tiff({ compression: 'lzw' }).toBuffer(),
    picture.clone().tiff({ compression: 'none' }).toBuffer(),
    picture.clone().avif({ effort: 0 }).toBuffer(),
    Promise.resolve(Buffer.from(SVG))
  ])
  const file = join(folder, 'image')
  return async (choice) => {
    const bytes = choice.among(whole)
    writeFileSync(file, choice.happens(0.05) ? bytes : damaged(bytes, choice))
    if (choice.happens(0.5)) await asOne(file, choice)
    else await asSample(file, choice)
  }
}

async function asOne(file: string, choice: Choice): Promise<void> {
  const channels = choice.among([1, 3])
  const pixels = await refusingBy(['DATA_CORRUPT'], () => readImage(file, [channels, SIDE, SIDE]))
  if (pixels.length !== channels * SIDE * SIDE) throw new Error(`${pixels.length} bytes of ${channels} x ${SIDE} x ${SIDE}`)
}

async function asSample(file: string, choice: Choice): Promise<void> {
  const channels = choice.among([1, 3] as const)
  const { recipe } = imageFolderPlan({ size: SIDE, channels, ...(choice.happens(0.3) && { crop: false }) })
  const size = channels * SIDE * SIDE
  const result = await readSamples({
    reader: { module: READER, options: recipe satisfies ImageRecipe },
    name: JSON.stringify(recipe),
    items: [file],
    ...(choice.happens(0.7) && { positions: [choice.below(1000)], key: [1, 2] as const }),
    memory: new SharedArrayBuffer(size),
    offset: 0,
    size
  })
  if ('refused' in result) throw unpackError(result.refused)
  const [bad] = result.unreadable
  // As data: the job says it with the file's name.
  if (bad) throw new ArbalestError('DATA_CORRUPT', bad.reason)
}
