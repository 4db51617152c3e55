import { expect } from 'chai'
import { parseEncoding } from '../../src/formats/encoding.js'
import { refused } from '../support/codes.js'

describe('parseEncoding', () => {
  const image = (resize: unknown) => JSON.stringify({ kind: 'image', resize })

  it('reads how images are cropped, for samples that are square images', () => {
    for (const sample of [
      [1, 32, 32],
      [3, 32, 32]
    ])
      for (const resize of [32, 36.5]) {
        expect(parseEncoding(image(resize), 'f', sample)).to.deep.equal({ kind: 'image', resize })
        const stretched = { kind: 'image', resize, stretch: true }
        expect(parseEncoding(JSON.stringify(stretched), 'f', sample)).to.deep.equal(stretched)
      }
  })

  it('refuses other samples, and a crop that is larger than the image', async () => {
    for (const sample of [[], [32], [3, 32], [2, 32, 32], [3, 32, 24], [3, 32, 32, 32], [3, 64, 64]])
      await refused('DATA_CORRUPT', async () => parseEncoding(image(48), 'f', sample), 'metadata encoding')
    for (const resize of [0, -1, null, '48', undefined])
      await refused('DATA_CORRUPT', async () => parseEncoding(image(resize), 'f', [3, 32, 32]), 'metadata encoding')
  })
})
