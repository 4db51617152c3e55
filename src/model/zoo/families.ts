import { invalidOption, unknownName } from '../../errors.js'
import { shownShape } from '../layer-checks.js'
import { checkModel, type Model } from '../model.js'
import type { Normalisation } from '../normalisation.js'
import { alexnetFamily } from './alexnet.js'
import { convnetFamily } from './convnet.js'
import { convnextFamily } from './convnext.js'
import { checkedShape, SMALL, type Defaults, type ZooFamily, type ZooShape } from './family.js'
import { efficientnetFamily } from './efficientnet.js'
import { gptFamily } from './gpt.js'
import { imagenetResnetFamily } from './imagenet-resnet.js'
import { inceptionFamily } from './inception.js'
import { lenetFamily } from './lenet.js'
import { logisticRegressionFamily, mlpFamily } from './mlp.js'
import { mobilenetFamily } from './mobilenet.js'
import { mobilenetV3Family } from './mobilenet-v3.js'
import { recurrentFamilies } from './recurrent.js'
import { resnetFamily } from './resnet.js'
import { textClassifierFamily } from './text-classifier.js'
import { vggFamily } from './vgg.js'
import { vitFamilies } from './vit.js'

/** In the order in which messages and docs name their models. */
const FAMILIES: readonly ZooFamily[] = [
  logisticRegressionFamily,
  mlpFamily,
  lenetFamily,
  resnetFamily,
  convnetFamily,
  alexnetFamily,
  vggFamily,
  imagenetResnetFamily,
  inceptionFamily,
  mobilenetFamily,
  mobilenetV3Family,
  efficientnetFamily,
  convnextFamily,
  gptFamily,
  ...recurrentFamilies,
  textClassifierFamily,
  ...vitFamilies
]

/** The models that a name stands for. Only transformers take a size. */
export const zoo: ZooFamily['models'] = Object.assign({}, ...FAMILIES.map(({ models }) => models))

/** The family of a model's name; undefined for a model that is not the zoo's. */
export function familyOf(name: string): ZooFamily | undefined {
  if (typeof name !== 'string') return undefined
  return FAMILIES.find((family) => Object.hasOwn(family.models, name)) ?? FAMILIES.find(({ includes }) => includes?.(name))
}

/**
 * The zoo's model of this name for one sample's shape and a number of classes. Throws UNKNOWN_NAME with the names there are, and INVALID_OPTION for a size
 * that the model cannot have. Targets that are numbers, of shape (n), get a model that gives n numbers under the mean squared error.
 */
export function modelNamed(name: string, given: ZooShape, size?: object): Model {
  if (typeof name !== 'string' || !Object.hasOwn(zoo, name)) throw unknownName('model', name, Object.keys(zoo))
  const { target, ...shape } = checkedShape(given)
  if (size !== undefined && !familyOf(name)!.checkSize) throw invalidOption('size', size, `leave it out: only ${sizedNames()} has one`)
  if (shape.classes > 0 || !target) return zoo[name]!(shape, size)
  // The logits of a classifier are as good as any numbers.
  if (target.length !== 1)
    throw invalidOption('model', name, `the targets are ${shownShape(target)} where it gives (n): use a model of your own`)
  return { ...zoo[name]!({ ...shape, classes: target[0]! }, size), loss: 'meanSquaredError' }
}

/** The models that have a size, for messages. */
export function sizedNames(): string {
  return FAMILIES.flatMap((family) => (family.checkSize ? Object.keys(family.models) : [])).join(', ')
}

/**
 * The defaults of a model by its name alone, for a Model that a function of the zoo has made is plain data like any other: a model of the user's own with
 * the name of one of the zoo has that one's defaults, too. Any other name gets those of a small network.
 */
export function defaultsFor(model: string): Defaults {
  return familyOf(model)?.defaults ?? SMALL
}

/** How a model of photographs takes the pixels of colour images; undefined for another model. Throws INVALID_MODEL for what is none. */
export function pixelNormalisation(model: Model): Normalisation | undefined {
  checkModel(model)
  const { name, input } = model
  return input.length === 3 && input[0] === 3 && Object.hasOwn(zoo, name) ? familyOf(name)!.normalisation : undefined
}

/** Height and width in pixels of the images that suit a model; undefined for a model that does not take square images. */
export function imageSizeOf(model: Model | string | undefined): number | undefined {
  const input = typeof model === 'string' ? familyOf(model)?.usual.input : model?.input
  return input?.length === 3 && input[1] === input[2] ? input[1] : undefined
}
