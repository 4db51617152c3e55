import { stat } from 'node:fs/promises'
import { imagesIn, loadModel, readImage } from '../../index.js'
import { withFlagsOf } from '../as-typed.js'
import type { CommonFlags, DefineCommand } from '../command.js'
import { EXIT, type ExitCode } from '../exit.js'
import { wholeNumber } from '../flag-values.js'
import { external, percent } from '../text.js'
import { addModelFlags, MODEL_FILE, readingOptions, type ModelFlags } from './model-flags.js'

interface PredictFlags extends ModelFlags, CommonFlags {
  readonly top: number
}

export const definePredict: DefineCommand = (command, { finish }) => {
  addModelFlags(command)
    .argument('<model>', MODEL_FILE)
    .argument('<images...>', 'JPEG, PNG, WebP, GIF, AVIF, TIFF or SVG files, or folders of them')
    .option('--top <count>', 'the number of likeliest classes to show', wholeNumber('--top'), 3)
    .action(async (file: string, images: readonly string[], flags: PredictFlags) =>
      finish(await withFlagsOf(command, runPredict(file, images, flags)))
    )
}

/** `arbalest predict`: prints the likeliest classes of each image, one line per image. */
async function runPredict(file: string, images: readonly string[], { top, json = false, ...flags }: PredictFlags): Promise<ExitCode> {
  const model = await loadModel(file, await readingOptions(flags))
  for (const image of (await Promise.all(images.map(imageFiles))).flat()) {
    const [classes = []] = model.classify(await readImage(image, model.input), { top })
    if (json) process.stdout.write(`${JSON.stringify({ file: image, classes })}\n`)
    else
      process.stdout.write(
        `${external(image)}: ${classes.map(({ name, probability }) => `${external(name)} ${percent(probability)}`).join(', ')}\n`
      )
  }
  return EXIT.done
}

/** The images of a folder and its subfolders, or the file itself. */
async function imageFiles(path: string): Promise<readonly string[]> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() === true
  return isFolder ? imagesIn(path) : [path]
}
