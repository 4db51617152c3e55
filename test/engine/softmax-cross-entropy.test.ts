import { expect } from 'chai'
import { refused } from '../support/codes.js'
import { activation, drawn, label, wide, type OperatorCase, type Values } from './support/operator-case.js'
import { withBound } from './support/own-kernels.js'

const SAMPLES = 67
const CLASSES = 701

const logits = activation(SAMPLES, CLASSES)
const target = label(CLASSES, SAMPLES)
const forward: OperatorCase = {
  kind: 'softmaxCrossEntropy',
  name: 'forward',
  attributes: { smoothing: 0.1, top: 5 },
  inputs: { logits, target },
  outputs: { loss: wide(1), differences: logits, correct: wide(1), amongTop: wide(1) }
}
const backward: OperatorCase = {
  kind: 'softmaxCrossEntropyBackward',
  name: 'backward',
  attributes: { smoothing: 0.1 },
  inputs: { differences: logits, target },
  outputs: { glogits: logits }
}

/** Work enough for several threads. */
describe('softmax cross-entropy of many classes', () => {
  it('has the same bits on one thread and on several', () => {
    for (const use of [forward, backward])
      for (const precision of ['f32', 'bf16'] as const) {
        const values = drawn(use.inputs, precision, 3)
        const [alone, together] = [1, 4].map((threads): Values =>
          withBound(use, 'plain', threads, (bound) => bound.run(values).outputs, precision)
        )
        expect(together, `${use.name} in ${precision}`).to.deep.equal(alone)
      }
  })

  it('refuses a class that there is not, whichever thread has its sample', async () => {
    for (const use of [forward, backward]) {
      const values = drawn(use.inputs, 'f32', 3)
      values['target']![SAMPLES - 1] = CLASSES
      const work = (): unknown => withBound(use, 'plain', 4, (bound) => bound.run(values))
      await refused('LABEL_OUT_OF_RANGE', work, `target of sample ${SAMPLES - 1} of the batch: received ${CLASSES}`)
    }
  })
})
