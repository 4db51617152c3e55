import { expect } from 'chai'
import { availableParallelism } from 'node:os'
import { inputs } from './support/inputs.js'
import { targets } from './targets/index.js'

const MOST_BYTES = 2e9
const BATCH = 2_000
const PROCESSES = availableParallelism()

/** Of the inputs of a usual target: those that take files and other programs are slower. */
const SHARES: Readonly<Record<string, number>> = { safetensors: 3, checkpoints: 0.3, idx: 0.4, cifar: 0.3, images: 0.4, onnx: 0.5 }

/** Inputs of each target instead of their shares. */
const ofEach = Number(process.env['ARBALEST_FUZZ_EACH'] ?? 0)

/** Inputs of all targets together, the first of them, and how long they may take: to go on where an earlier run ended. */
const count = Number(process.env['ARBALEST_FUZZ_INPUTS'] ?? 1e6)
const first = Number(process.env['ARBALEST_FUZZ_FIRST'] ?? 10_000)
const seconds = Number(process.env['ARBALEST_FUZZ_SECONDS'] ?? Infinity)

describe('a million inputs', function () {
  const names = Object.keys(targets)
  const share = (target: string) => SHARES[target] ?? 1
  const all = names.reduce((sum, name) => sum + share(name), 0)
  this.timeout(0)

  for (const target of names)
    it(`${target}: none crashes, hangs or takes memory without bound`, async () => {
      const began = Date.now()
      const deadline = began + (seconds * 1000) / names.length
      const each = ofEach > 0 ? ofEach : Math.ceil((count * share(target)) / all)
      let begun = 0
      const inTurn = async () => {
        while (begun < each && Date.now() < deadline) {
          const from = begun
          const batch = Math.min(BATCH, each - from)
          begun += batch
          const { wrong, bytes } = await inputs(target, first + from, batch, { seconds: 600 })
          expect(wrong).to.deep.equal([])
          expect(bytes).to.be.below(MOST_BYTES)
        }
      }
      await Promise.all(Array.from({ length: PROCESSES }, inTurn))
      const took = ((Date.now() - began) / 1000).toFixed(0)
      console.log(`        ${target}: ${begun} inputs from ${first} in ${took} s; go on with ARBALEST_FUZZ_FIRST=${first + begun}`)
    })
})
