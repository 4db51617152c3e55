import { printable } from '../../errors.js'
import { datasetNames, loadModel, openData, type ImageFolderOptions } from '../../index.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { count, duration, loss, percent } from '../figures.js'
import { readingOptions, type ModelFlags } from './model-flags.js'

export interface EvalFlags extends ModelFlags {
  readonly dataDir?: string
  readonly json?: boolean
}

/** As the model takes them, where the data is a folder of images. */
function imagesLike([channels, size]: readonly number[]): ImageFolderOptions {
  return { channels: channels === 1 ? 1 : 3, ...(size !== undefined && { size }) }
}

/** `arbalest eval`: a model's loss and accuracy on the test samples of a data set. */
export async function runEval(file: string, { data: name = 'digits', dataDir, json = false, ...flags }: EvalFlags): Promise<ExitCode> {
  const model = await loadModel(file, await readingOptions({ ...flags, ...(datasetNames.includes(name) && { data: name }) }))
  const data = await openData(name, { directory: dataDir, images: imagesLike(model.input) })
  const measured = await model.evaluate(data)
  const { samples, testAccuracy, testLoss, seconds } = measured
  if (json) process.stdout.write(`${JSON.stringify({ model: model.name, data: data.name, ...measured })}\n`)
  else {
    const accuracy = testAccuracy === null ? '' : `test accuracy ${percent(testAccuracy)}, `
    const took = `${count(samples)} samples in ${duration(seconds)}`
    process.stdout.write(`${printable(model.name)} on ${data.name}: ${accuracy}test loss ${loss(testLoss)}; ${took}\n`)
  }
  return EXIT.done
}
