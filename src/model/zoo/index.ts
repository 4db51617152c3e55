import { unknownName } from '../../errors.js'
import type { Model } from '../model.js'
import { alexnet } from './alexnet.js'
import { gpt } from './gpt.js'
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

/** The models that a name stands for. */
export const zoo: Readonly<Record<string, (shape: ZooShape) => Model>> = {
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
  gpt: (shape) => gpt(shape)
}

/** The zoo's model of this name for one sample's shape and a number of classes. Throws UNKNOWN_NAME with the names there are. */
export function modelNamed(name: string, shape: ZooShape): Model {
  if (!Object.hasOwn(zoo, name)) throw unknownName('model', name, Object.keys(zoo))
  return zoo[name]!(shape)
}
