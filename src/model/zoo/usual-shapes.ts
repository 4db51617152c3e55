import type { ZooShape } from './zoo-shape.js'

const DIGITS: ZooShape = { input: [1, 28, 28], classes: 10 }
const SMALL_IMAGES: ZooShape = { input: [3, 32, 32], classes: 10 }
const PHOTOGRAPHS: ZooShape = { input: [3, 224, 224], classes: 1000 }
const CHARACTERS: ZooShape = { input: [128], classes: 65 }

const SHAPES: Readonly<Record<string, ZooShape>> = {
  'logistic-regression': DIGITS,
  mlp: DIGITS,
  lenet: DIGITS,
  resnet20: SMALL_IMAGES,
  resnet32: SMALL_IMAGES,
  resnet44: SMALL_IMAGES,
  resnet56: SMALL_IMAGES,
  resnet110: SMALL_IMAGES,
  vgg16: SMALL_IMAGES,
  alexnet: PHOTOGRAPHS,
  resnet18: PHOTOGRAPHS,
  resnet34: PHOTOGRAPHS,
  resnet50: PHOTOGRAPHS,
  resnet101: PHOTOGRAPHS,
  resnet152: PHOTOGRAPHS,
  gpt: CHARACTERS
}

/** The samples and classes that a model of the zoo is usually trained on: MNIST's, CIFAR-10's, ImageNet's or tinyshakespeare's; undefined where there are none. */
export function usualShape(name: string): ZooShape | undefined {
  return Object.hasOwn(SHAPES, name) ? SHAPES[name] : undefined
}
