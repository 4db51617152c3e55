import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { loadModel } from '../../src/index.js'

/**
 * A classifier of texts (24 bytes, 1 layer, 2 heads, 16 wide) as `model.save` wrote it when its attention and its mean still counted what stands behind the end of a text, with the
 * predictions that it gave then.
 */
const FILE = fileURLToPath(new URL('../../../test/formats/fixtures/text-classifier-without-padding.safetensors', import.meta.url))
const PREDICTED = [
  { text: 'good and fine', logits: [-1.500240445137024, 1.5867716073989868] },
  { text: 'bad', logits: [3.5206902027130127, -3.1741256713867188] },
  { text: 'bad so so so', logits: [3.136298179626465, -3.015859365463257] },
  { text: '', logits: [3.530224323272705, -3.142789840698242] }
]

describe('a classifier of texts that was saved before texts had an end', () => {
  it('is loaded, and predicts what it predicted then', async () => {
    const model = await loadModel(FILE)
    const texts = PREDICTED.map(({ text }) => text)
    const logits = model.predict(texts)
    for (const [i, expected] of PREDICTED.flatMap((each) => each.logits).entries()) expect(logits[i]).to.be.closeTo(expected, 1e-4)
    const likeliest = model.classify(texts).map(([first]) => first!.name)
    expect(likeliest).to.deep.equal(['yes', 'no', 'no', 'no'])
  })
})
