import { expect } from 'chai'
import { runOnce } from './support/bound-operator.js'
import { hasTiles, needsBfloat16 } from './support/convolution-shapes.js'
import { activation, drawn, wide, type OperatorCase } from './support/operator-case.js'
import { withBound } from './support/own-kernels.js'
import { skip } from '../support/skip.js'

interface Pointwise {
  readonly images: number
  readonly side: number
  readonly channels: number
  readonly filters: number
  readonly stride?: number
}

function weights({ images, side, channels, filters, stride = 1 }: Pointwise): OperatorCase {
  const outputs = Math.ceil(side / stride)
  return {
    kind: 'conv2dBackwardWeights',
    name: `${images} images of ${side}, ${channels} channels to ${filters} by steps of ${stride}`,
    attributes: { stride: [stride, stride], padding: [0, 0], groups: 1, relu: 0 },
    inputs: { x: activation(images, channels, side, side), gy: activation(images, filters, outputs, outputs) },
    outputs: { gw: wide(filters, channels, 1, 1), gb: wide(filters) }
  }
}

describe('the gradient of the weights of a convolution of 1x1 in bfloat16', () => {
  before(function () {
    needsBfloat16(this)
    if (hasTiles) skip(this, 'the tiles of this processor are faster')
  })

  it('is computed by a kernel of our own, exactly for small whole numbers, on one thread and on several', () => {
    for (const shape of [
      { images: 1, side: 1, channels: 32, filters: 16 },
      { images: 3, side: 7, channels: 64, filters: 112 },
      // More pixels than are packed at once, of which the last has no partner.
      { images: 3, side: 15, channels: 48, filters: 80 },
      { images: 5, side: 13, channels: 256, filters: 320, stride: 2 }
    ])
      for (const layout of ['nhwc', 'nChw16c']) {
        const use = weights(shape)
        const values = Object.fromEntries(
          Object.entries(drawn(use.inputs, 'bf16', 3)).map(([name, numbers]) => [name, numbers.map((number) => Math.round(4 * number))])
        )
        const { outputs } = runOnce('reference', 'f64', use, values)
        for (const threads of [1, 4])
          withBound(
            use,
            layout,
            threads,
            (bound) => {
              expect(bound.answer.implementation, use.name).to.match(/^own:/)
              expect(bound.run(values).outputs, `${use.name} in ${layout}, ${threads} threads`).to.deep.equal(outputs)
            },
            'bf16'
          )
      }
  })

  it('takes channels that do not fill blocks where they lie in blocks', () => {
    const by = (layout: string): string =>
      withBound(weights({ images: 2, side: 5, channels: 24, filters: 40 }), layout, 1, (bound) => bound.answer.implementation, 'bf16')
    expect(by('nChw16c')).to.match(/^own:/)
    expect(by('nhwc')).not.to.match(/^own:/)
  })
})
