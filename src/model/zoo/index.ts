import { invalidOption, unknownName } from '../../errors.js'
import type { Model } from '../model.js'
import { alexnet } from './alexnet.js'
import { gpt, type GptOptions } from './gpt.js'
import { imagenetResnet } from './imagenet-resnet.js'
import { lenet } from './lenet.js'
import { logisticRegression } from './logistic-regression.js'
import { mlp } from './mlp.js'
import { resnet } from './resnet.js'
import { vgg16 } from './vgg.js'
import type { ZooShape } from './zoo-shape.js'

export { alexnet, gpt, imagenetResnet, lenet, logisticRegression, mlp, resnet, vgg16 }
export type { GptOptions } from './gpt.js'
export type { ImagenetResnetOptions } from './imagenet-resnet.js'
export type { Shortcut } from './resnet.js'
export type { ZooShape } from './zoo-shape.js'

/** The models that a name stands for. A size of their own only `gpt` takes. */
export const zoo: Readonly<Record<string, (shape: ZooShape, size?: GptOptions) => Model>> = {
  'logistic-regression': logisticRegression,
  mlp: (shape) => mlp(shape),
  lenet,
  resnet20: (shape) => resnet(shape, { depth: 20 }),
  resnet32: (shape) => resnet(shape, { depth: 32 }),
  resnet44: (shape) => resnet(shape, { depth: 44 }),
  resnet56: (shape) => resnet(shape, { depth: 56 }),
  resnet110: (shape) => resnet(shape, { depth: 110 }),
  alexnet: (shape) => alexnet(shape),
  vgg16: (shape) => vgg16(shape),
  resnet18: (shape) => imagenetResnet(shape, { depth: 18 }),
  resnet34: (shape) => imagenetResnet(shape, { depth: 34 }),
  resnet50: (shape) => imagenetResnet(shape, { depth: 50 }),
  resnet101: (shape) => imagenetResnet(shape, { depth: 101 }),
  resnet152: (shape) => imagenetResnet(shape, { depth: 152 }),
  gpt
}

/**
 * The zoo's model of this name for one sample's shape and a number of classes. Throws UNKNOWN_NAME with the names there are, and INVALID_OPTION for a size
 * that the model cannot have.
 */
export function modelNamed(name: string, shape: ZooShape, size?: GptOptions): Model {
  if (!Object.hasOwn(zoo, name)) throw unknownName('model', name, Object.keys(zoo))
  if (size !== undefined && name !== 'gpt') throw invalidOption('size', size, 'leave it out: only gpt has one')
  return zoo[name]!(shape, size)
}
