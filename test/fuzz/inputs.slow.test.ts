import { expect } from 'chai'
import { inputs } from './support/inputs.js'
import { targets } from './targets/index.js'

const MOST_BYTES = 2e9
const BATCH = 2_000

/** Of the inputs of a usual target: those that take files and other programs are slower. */
const SHARES: Readonly<Record<string, number>> = { safetensors: 3, checkpoints: 0.3, idx: 0.4, cifar: 0.3, images: 0.4, onnx: 0.5 }

/** Inputs of all targets together, the first of them, and how long they may take: to go on where an earlier run ended. */
const count = Number(process.env['ARBALEST_FUZZ_INPUTS'] ?? 1e6)
const first = Number(process.env['ARBALEST_FUZZ_FIRST'] ?? 10_000)
const seconds = Number(process.env['ARBALEST_FUZZ_SECONDS'] ?? 3600)

describe('a million inputs', function () {
  const names = Object.keys(targets)
  const share = (target: string) => SHARES[target] ?? 1
  const all = names.reduce((sum, name) => sum + share(name), 0)
  this.timeout(0)

  for (const target of names)
    it(`${target}: none crashes, hangs or takes memory without bound`, async () => {
      const deadline = Date.now() + (seconds * 1000) / names.length
      const each = Math.ceil((count * share(target)) / all)
      let done = 0
      while (done < each && Date.now() < deadline) {
        const batch = Math.min(BATCH, each - done)
        const { wrong, bytes } = await inputs(target, first + done, batch, { seconds: 600 })
        expect(wrong).to.deep.equal([])
        expect(bytes).to.be.below(MOST_BYTES)
        done += batch
      }
      console.log(`        ${target}: ${done} inputs from ${first}; go on with ARBALEST_FUZZ_FIRST=${first + done}`)
    })
})
