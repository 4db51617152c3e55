import { expect } from 'chai'
import { compile } from '../../src/compiler/compile.js'
import { defineModel, linear, relu, type Model } from '../../src/model/layers.js'
import { FakeLowering } from '../fakes/lowering.js'

function deepModel(layers: number): Model {
  const body = Array.from({ length: layers / 2 }, () => [linear(8), relu()]).flat()
  return defineModel({ name: 'deep', input: [8], layers: [...body, linear(2)] })
}

/** The least processor time of some compilations in milliseconds: other processes lengthen the wall time only. */
function compileTime(layers: number, runs: number): number {
  const model = deepModel(layers)
  const times = Array.from({ length: runs }, () => {
    const before = process.cpuUsage()
    compile(model, new FakeLowering(), { mode: 'train', batch: 2, precision: 'f32' })
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  return Math.min(...times)
}

describe('compiling', function () {
  this.timeout(120_000)

  it('takes about as many times longer as a model has more layers', () => {
    // The first ones warm up.
    const [few, many] = [compileTime(1000, 5), compileTime(8000, 2)]
    // Linear is 8 and quadratic 64.
    expect(many / few, `${few} ms for 1000 layers, ${many} ms for 8000`).to.be.below(24)
  })
})
