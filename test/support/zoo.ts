import type { Model } from '../../src/model/model.js'
import { modelNamed, zoo } from '../../src/model/zoo/index.js'

/** Their operators are those of smaller models, many times over or with many weights. */
const DEEP: readonly string[] = [
  'vgg16',
  'resnet34',
  'resnet50',
  'resnet50_gn',
  'resnet101',
  'resnet152',
  'resnext50_32x4d',
  'wide_resnet50_2',
  'inception_v3',
  'efficientnet_b1',
  'efficientnet_b2',
  'efficientnet_b3',
  'efficientnet_b4',
  'convnext_tiny',
  'convnext_small',
  'convnext_base',
  'convnext_large',
  'vit-small',
  'vit-base'
]
/** Those that take tokens. */
export const TEXT: readonly string[] = ['gpt', 'lstm', 'gru', 'text-classifier']

/** Every model of images in the zoo that is worth a test of its operators, for small images of ten classes. */
export const smallZoo: readonly Model[] = Object.keys(zoo)
  .filter((name) => !DEEP.includes(name) && !TEXT.includes(name))
  .map(forSmallImages)

export const deepZoo: readonly Model[] = DEEP.map(forSmallImages)

function forSmallImages(name: string): Model {
  const input =
    name === 'alexnet'
      ? [3, 63, 63]
      : name === 'inception_v3'
        ? [3, 75, 75]
        : /^(vgg|resnet|resnext|wide_resnet|vit|mobilenet|efficientnet|convnet)/.test(name)
          ? [3, 32, 32]
          : [1, 28, 28]
  return modelNamed(name, { input, classes: 10 })
}
