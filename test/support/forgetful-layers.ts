import { batchNorm2d, conv2d, dropout, maxPool2d, relu, residual, type Layer } from '../../src/model/layers.js'

const block = () => residual({ body: [conv2d(8, 3, { padding: 1 }), batchNorm2d(), relu(), conv2d(8, 3, { padding: 1 }), batchNorm2d()] })

/** Layers for images whose values are hard to compute again: batch norm, dropout, sums of branches. The caller adds those that give the classes. */
export const forgetfulLayers = (): Layer[] => [
  conv2d(8, 3, { padding: 1 }),
  batchNorm2d(),
  relu(),
  block(),
  dropout(0.3),
  block(),
  maxPool2d(2),
  block()
]
