import { invalidOption } from '../errors.js'
import { NO_CLASS } from '../model/graph.js'
import type { Dataset } from './dataset.js'
import { namesShown } from './names-shown.js'

/** A model that takes samples of a shape and classifies them, unless it has no names of classes. */
export interface Classifier {
  readonly name: string
  readonly input: readonly number[]
  readonly classNames?: readonly string[] | undefined
}

/**
 * The data set with its labels as the numbers of the model's classes of the same names, of which it may lack some; unchanged where one of the two has no names. Throws INVALID_OPTION
 * for a class that the model does not have.
 */
export function inClassesOf({ name, input, classNames }: Classifier, data: Dataset, nameOrPath: string): Dataset {
  const { classNames: found } = data
  if (!classNames || !found || sameList(found, classNames)) return data
  // The measurement refuses it by its shape, which says more.
  if (!sameList(data.sample, input)) return data
  const unknown = found.filter((each) => !classNames.includes(each))
  if (unknown.length > 0) {
    const has = `model ${name} does not have its class${unknown.length > 1 ? 'es' : ''} ${namesShown(unknown)}`
    throw invalidOption(
      'data',
      nameOrPath,
      `${has}, but ${namesShown(classNames)}; name the folders after the model's classes, or use other data`
    )
  }
  const numbers = found.map((each) => classNames.indexOf(each))
  const classes = classNames.length
  if (numbers.some((number, i) => number !== i) && [data.train, data.test].some((part) => part.label && !part.labels))
    throw invalidOption(
      'data',
      nameOrPath,
      `its reader writes the numbers of ${namesShown(found)}, in this order, and model ${name} has ${namesShown(classNames)}: let it write the model's numbers`
    )
  const renumbered = <Part extends Dataset['test']>(part: Part): Part => ({
    ...part,
    classes,
    labels: part.labels && Int32Array.from(part.labels, (label) => (label === NO_CLASS ? label : numbers[label]!))
  })
  return { ...data, classes, classNames, train: renumbered(data.train), test: renumbered(data.test) }
}

/**
 * As `inClassesOf`, for a data set that was opened by itself: one with a class that the model does not have by its name keeps its numbers, for names may differ where classes do not. Throws
 * INVALID_OPTION for a text of other characters.
 */
export function inKnownClasses(model: Classifier, data: Dataset): Dataset {
  const { name, input, classNames } = model
  const { classNames: found } = data
  if (!classNames || !found || sameList(found, classNames) || !sameList(data.sample, input)) return data
  // The tokens of a text are indices of its characters: they would stand for others.
  if (data.train.stride !== undefined)
    throw invalidOption('data', data.name, `its characters differ from those of model ${name}; use the text that it was trained on`)
  return found.every((each) => classNames.includes(each)) ? inClassesOf(model, data, data.name) : data
}

function sameList<Item>(a: readonly Item[], b: readonly Item[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i])
}
