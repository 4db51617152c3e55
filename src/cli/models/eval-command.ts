import { printable } from '../../errors.js'
import { datasetNames, loadModel, openData, textNames, type Dataset, type ImageFolderOptions, type TrainedModel } from '../../index.js'
import { EXIT, type ExitCode } from '../exit.js'
import { count, duration, loss, percent } from '../text.js'
import { refusal } from '../numbers.js'
import { readingOptions, type ModelFlags } from './model-flags.js'

export interface EvalFlags extends ModelFlags {
  readonly dataDir?: string
  readonly json?: boolean
}

/** `arbalest eval`: a model's loss and accuracy on the test samples of a data set. */
export async function runEval(file: string, { data: name = 'digits', dataDir, json = false, ...flags }: EvalFlags): Promise<ExitCode> {
  const model = await loadModel(file, await readingOptions({ ...flags, ...(datasetNames.includes(name) && { data: name }) }))
  const data = await dataFor(model, name, dataDir)
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

/** The data set as the model takes it: a text in windows of the model's length, images of its size and colours. */
async function dataFor({ name: model, input, classNames }: TrainedModel, name: string, directory: string | undefined): Promise<Dataset> {
  // A model of images is refused by its shape, whatever the text's windows.
  if (!textNames.includes(name) || input.length !== 1) return openData(name, { directory, images: imagesLike(input) })
  const data = await openData(name, { directory, context: input[0] })
  // Tokens are places in an alphabet: with another one every character would be taken for a different one.
  if (classNames && classNames.join() !== data.classNames?.join())
    throw refusal('--data', name, `its characters are not those that model ${printable(model)} has learnt; use the text of its training`)
  return data
}

/** As the model takes them, where the data is a folder of images. */
function imagesLike([channels, size]: readonly number[]): ImageFolderOptions {
  return { channels: channels === 1 ? 1 : 3, ...(size !== undefined && { size }) }
}
