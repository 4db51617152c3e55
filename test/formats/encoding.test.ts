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

  it('reads the columns of any table: its samples say how many values it may have', async () => {
    const number = { kind: 'number', mean: 1.5, std: 2, missing: false }
    const category = { kind: 'category', values: Array.from({ length: 255 }, (_, i) => `value ${i}`), missing: true }
    const columns = Array.from({ length: 3000 }, (_, i) => ({ name: `c${i}`, ...(i % 5 === 0 ? number : category) }))
    const table = { kind: 'table', columns, target: { kind: 'number', name: 'y', mean: 0, std: 1 } }
    const features = 600 + 2400 * 257
    expect(parseEncoding(JSON.stringify(table), 'f', [features])).to.deep.equal(table)
    const least = { ...table, columns: [{ name: 'x', ...number }] }
    expect(parseEncoding(JSON.stringify(least), 'f', [1])).to.deep.equal(least)
    await refused('DATA_CORRUPT', async () => parseEncoding(JSON.stringify(table), 'f', [4]), 'metadata encoding')
  })

  it('refuses other samples, and a crop that is larger than the image', async () => {
    for (const sample of [[], [32], [3, 32], [2, 32, 32], [3, 32, 24], [3, 32, 32, 32], [3, 64, 64]])
      await refused('DATA_CORRUPT', async () => parseEncoding(image(48), 'f', sample), 'metadata encoding')
    for (const resize of [0, -1, null, '48', undefined])
      await refused('DATA_CORRUPT', async () => parseEncoding(image(resize), 'f', [3, 32, 32]), 'metadata encoding')
  })
})
