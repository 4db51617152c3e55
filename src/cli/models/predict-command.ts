import { printable } from '../../errors.js'
import { loadModel, readImage } from '../../index.js'
import { EXIT, type ExitCode } from '../exit.js'
import { percent } from '../text.js'
import { readingOptions, type ModelFlags } from './model-flags.js'

export interface PredictFlags extends ModelFlags {
  readonly top: number
  readonly json?: boolean
}

/** `arbalest predict`: what a model takes images for, a line each. */
export async function runPredict(
  file: string,
  images: readonly string[],
  { top, json = false, ...flags }: PredictFlags
): Promise<ExitCode> {
  const model = await loadModel(file, await readingOptions(flags))
  for (const image of images) {
    const [classes = []] = model.classify(await readImage(image, model.input), { top })
    if (json) process.stdout.write(`${JSON.stringify({ file: image, classes })}\n`)
    else
      process.stdout.write(`${image}: ${classes.map(({ name, probability }) => `${printable(name)} ${percent(probability)}`).join(', ')}\n`)
  }
  return EXIT.done
}
