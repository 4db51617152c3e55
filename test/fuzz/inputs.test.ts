import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { inputs } from './support/inputs.js'
import { targets } from './targets/index.js'

/** Of a process that has a few small programs and their data. */
const MOST_BYTES = 1e9
/** Enough to notice a reader that has become careless; `inputs.slow.test.ts` has a million. Fewer for targets that take longer. */
const USUAL_COUNT = 3000
const COUNT: Readonly<Record<string, number>> = {
  program: 500,
  calls: 2000,
  models: 500,
  checkpoints: 100,
  idx: 250,
  cifar: 200,
  text: 500,
  csv: 1000,
  parquet: 500,
  texts: 500,
  tokenizers: 1500,
  images: 500,
  onnx: 250
}

/** Inputs that did harm once, by target: corpus/README.md. */
const CORPUS = JSON.parse(readFileSync(fileURLToPath(new URL('../../../test/fuzz/corpus/seeds.json', import.meta.url)), 'utf8')) as Record<
  string,
  number[]
>

describe('any input', () => {
  for (const target of Object.keys(targets)) {
    it(`of ${target} is taken or refused by its code`, async () => {
      const { wrong, worked, codes, bytes } = await inputs(target, 0, COUNT[target] ?? USUAL_COUNT)
      expect(wrong).to.deep.equal([])
      expect(bytes).to.be.below(MOST_BYTES)
      // Some of either, or nothing has been tested.
      expect(worked).to.be.above(10)
      expect(Object.keys(codes)).to.not.deep.equal([])
    })

    for (const seed of CORPUS[target] ?? [])
      it(`of ${target} numbered ${seed}, which did harm once, does none`, async () => {
        expect((await inputs(target, seed, 1)).wrong).to.deep.equal([])
      })
  }
})
