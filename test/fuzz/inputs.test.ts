import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { seldom } from '../support/seldom.js'
import { inputs } from './support/inputs.js'
import { targets } from './targets/index.js'

/** Of a process that has a few small programs and their data. */
const MOST_BYTES = 1e9
/** Enough to notice a reader that has become careless; `inputs.slow.test.ts` has a million. Fewer for targets that take longer. */
const USUAL_COUNT = 1000
const COUNT: Readonly<Record<string, number>> = {
  program: 170,
  calls: 700,
  safetensors: 3000,
  models: 170,
  checkpoints: 40,
  idx: 90,
  cifar: 70,
  text: 170,
  csv: 350,
  parquet: 500,
  texts: 170,
  tokenizers: 500,
  images: 170,
  onnx: 90
}
/** In `inputs.whole.slow.test.ts`. */
const TIMES = seldom.tested ? 4 : 1

/** Inputs that did harm once, by target: corpus/README.md. */
const CORPUS = JSON.parse(readFileSync(fileURLToPath(new URL('../../../test/fuzz/corpus/seeds.json', import.meta.url)), 'utf8')) as Record<
  string,
  number[]
>
/** That read a large file again and again before they refuse it. */
const LONG: Readonly<Record<string, readonly number[]>> = { parquet: [101797, 101821] }

describe('any input', () => {
  for (const target of Object.keys(targets)) {
    it(`of ${target} is taken or refused by its code`, async () => {
      const { wrong, worked, codes, bytes } = await inputs(target, 0, TIMES * (COUNT[target] ?? USUAL_COUNT))
      expect(wrong).to.deep.equal([])
      expect(bytes).to.be.below(MOST_BYTES)
      // Some of either, or nothing has been tested.
      expect(worked).to.be.above(10)
      expect(Object.keys(codes)).to.not.deep.equal([])
    })

    for (const seed of (CORPUS[target] ?? []).filter((each) => seldom.tested || !LONG[target]?.includes(each)))
      it(`of ${target} numbered ${seed}, which did harm once, does none`, async () => {
        expect((await inputs(target, seed, 1)).wrong).to.deep.equal([])
      })
  }
})
