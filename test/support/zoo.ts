import type { Model } from '../../src/model/model.js'
import { modelNamed, zoo } from '../../src/model/zoo/index.js'

/** Models whose operators smaller ones of the zoo have too, and those that take no images. */
const LEFT_OUT: readonly string[] = ['resnet34', 'resnet101', 'resnet152', 'gpt']

/** Every model of images in the zoo that is worth a test of its operators, for small images of ten classes. */
export const smallZoo: readonly Model[] = Object.keys(zoo)
  .filter((name) => !LEFT_OUT.includes(name))
  .map((name) => {
    const input = name === 'alexnet' ? [3, 63, 63] : name === 'vgg16' || name.startsWith('resnet') ? [3, 32, 32] : [1, 28, 28]
    return modelNamed(name, { input, classes: 10 })
  })
