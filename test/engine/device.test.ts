import { expect } from 'chai'
import { sma } from '../../src/rules/sma.js'
import { compile } from '../../src/compiler/compile.js'
import { inOrder } from '../../src/compiler/step.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { addon } from '../../src/engine/addon.js'
import { engine } from '../../src/engine/native.js'
import type { Handle } from '../../src/engine/contract.js'
import { defineModel, linear } from '../../src/model/layers.js'
import { familyOf, modelNamed, zoo } from '../../src/model/zoo/index.js'
import { refused } from '../support/codes.js'
import { thrown } from '../support/thrown.js'
import { GroupRun } from './support/group-run.js'
import { randomSamples, smallTraining } from './support/small-training.js'
import { runOnce } from './support/bound-operator.js'
import { activation, drawn, rounded, wide, type OperatorCase, type Port } from './support/operator-case.js'
import { CLASSES, DEVICE, expectAsOnCpu, losses, ofImages, ofManyLabels, ofTokens, type Training } from './support/device-training.js'

/** Launches of each kernel so far, by its mangled name. */
function launches(): Readonly<Record<string, number>> {
  return (JSON.parse(addon().describe(DEVICE).detail) as { launches: Record<string, number> }).launches
}

/** All batches of a training, in the data set's order. */
function streamOf({ data, batch, calls, steps }: Training): Handle {
  const { count, sample, samples, labels, classes } = data
  const stream = engine.createStream({ count, sample, classes: classes!, batch, slots: calls * steps })
  const elements = samples.length / count
  for (let request = engine.nextBatch(stream, 'ahead'); request; request = engine.nextBatch(stream, 'ahead')) {
    const { turn, position } = request
    const numbers = Array.from({ length: request.count }, (_, i) => (position + i) % count)
    const taken = numbers.flatMap((number) => [...samples.subarray(number * elements, (number + 1) * elements)])
    engine.feedBatch(
      stream,
      turn,
      Uint8Array.from(taken),
      Int32Array.from(numbers, (number) => labels![number]!)
    )
  }
  return stream
}

const lenet = ofImages(modelNamed('lenet', { input: [1, 28, 28], classes: CLASSES }))
// At higher rates so deep a network makes of the last bit of a sum another loss within ten steps.
const resnet = { ...ofImages(modelNamed('resnet20', { input: [3, 32, 32], classes: CLASSES })), rate: 0.005, calls: 3 }

describe(`The CUDA backend (${DEVICE})`, () => {
  for (const [training, tolerance] of [
    [lenet, 1e-4],
    [resnet, 1e-3],
    [ofImages(modelNamed('alexnet', { input: [3, 63, 63], classes: CLASSES }), true), 1e-5],
    [ofManyLabels(), 1e-4],
    [ofTokens(), 1e-3]
  ] as const)
    it(`trains ${training.model.name} as the CPU does, steps recorded and samples from the device`, function () {
      this.timeout(120_000)
      expectAsOnCpu(training, tolerance)
    })

  for (const training of [lenet, { ...resnet, calls: 2 }, ofManyLabels(), ofTokens()]) {
    it(`trains ${training.model.name} in bfloat16 about as in float32`, function () {
      this.timeout(120_000)
      const expected = losses('cpu', 'f32', training)
      const found = losses(DEVICE, 'bf16', training)
      found.forEach((loss, call) => expect(loss, `call ${call}`).to.be.closeTo(expected[call]!, 0.02))
    })
  }

  for (const [what, from, to] of [
    ['weights into bfloat16', wide, activation],
    ['gradients into float32', activation, wide]
  ] as const)
    it(`turns any number of ${what} at once`, () => {
      // More than one launch takes, of sizes that are no multiples of what a thread takes.
      const shapes = Array.from({ length: 200 }, (_, i) => [1 + (i % 5), 1 + i])
      const ports = (name: string, port: (...shape: number[]) => Port): Record<string, Port> =>
        Object.fromEntries(shapes.map((shape, i) => [`${name}${i}`, port(...shape)]))
      const use: OperatorCase = { kind: 'reorder', name: 'together', attributes: {}, inputs: ports('x', from), outputs: ports('y', to) }
      const values = drawn(use.inputs, 'f32', 3)
      const { outputs, faults } = runOnce(DEVICE, 'bf16', use, values)
      expect(faults).to.deep.equal([])
      for (const i of shapes.keys())
        expect(outputs[`y${i}`], `y${i}`).to.deep.equal(values[`x${i}`]!.map((value) => rounded(value, 'bf16')))
    })

  it('turns the weights of a step into bfloat16 by one operator, and their gradients into float32', () => {
    const model = modelNamed('resnet20', { input: [3, 32, 32], classes: CLASSES })
    const { segments, values } = compile(model, loweringBackend(engine, DEVICE), { batch: 2, mode: 'train', precision: 'bf16' })
    const reorders = inOrder(segments).filter(({ kind }) => kind === 'reorder')
    const roles = ({ inputs, outputs }: (typeof reorders)[number]) => new Set([...inputs, ...outputs].map((id) => values[id]!.role))
    const [weights, gradients] = (['parameter', 'parameterGradient'] as const).map((role) =>
      reorders.filter((reorder) => roles(reorder).has(role)).map(({ inputs }) => inputs.length)
    )
    // Of 19 convolutions, and the last layer's weights.
    expect(weights).to.deep.equal([20])
    // Those of kernels that have them in bfloat16.
    const narrow = inOrder(segments).filter(({ kind, outputs }) => kind === 'conv2dBackwardWeights' && values[outputs[0]!]!.type === 'bf16')
    expect(narrow).not.to.be.empty
    expect(gradients).to.deep.equal([narrow.length])
    expect(segments.backward.at(-1)).to.have.property('kind', 'reorder')
  })

  it('leaves gradients of weights to the library where few blocks would take many tiles', function () {
    const implementation = (batch: number): string => {
      const image: Port = activation(batch, 16, 32, 32)
      const shaped = ({ shape }: Port) => ({ shape, type: 'bf16' as const, layout: null })
      const { implementation: found, outputs } = engine.lower(DEVICE, {
        kind: 'conv2dBackwardWeights',
        attributes: { stride: [1, 1], padding: [1, 1], groups: 1 },
        inputs: [shaped(image), shaped(image)],
        outputs: [shaped(activation(16, 16, 3, 3)), null],
        precision: 'bf16'
      })
      // Our kernel's sums are in float32.
      expect(outputs[0]!.type === 'f32').to.equal(found === 'own')
      return found
    }
    const own = implementation(1) === 'own'
    // A GPU before Hopper has no clusters.
    if (!own && DEVICE === 'cuda') this.skip()
    expect(own).to.equal(true)
    // Four tiles an image: 32 for each of eight blocks, and more.
    expect(implementation(64)).to.equal('own')
    expect(implementation(65)).not.to.equal('own')
  })

  it('runs the reorders of all weights by one launch a step, and those of their gradients by another', function () {
    // Only the stand-in counts them.
    if (DEVICE !== 'cuda-host') this.skip()
    const before = launches()
    losses(DEVICE, 'bf16', { ...lenet, calls: 1, steps: 1 })
    const after = launches()
    const of = (kernel: RegExp) =>
      Object.entries(after).reduce((sum, [name, count]) => sum + (kernel.test(name) ? count - (before[name] ?? 0) : 0), 0)
    expect(of(/10ConversionI.*4Bf16EfE/)).to.equal(1)
    expect(of(/10ConversionIf.*4Bf16EE/)).to.equal(1)
  })

  it('gives the same bits in every run', () => {
    for (const training of [lenet, ofTokens()]) expect(losses(DEVICE, 'f32', training)).to.deep.equal(losses(DEVICE, 'f32', training))
  })

  it('computes beside the rest of a recorded step what it computes in turn in one that is not', () => {
    const training = { ...resnet, batch: 2, calls: 3, steps: 1 }
    expect(losses(DEVICE, 'bf16', training)).to.deep.equal(losses(DEVICE, 'bf16', { ...training, anew: true }))
  })

  for (const training of [
    { ...resnet, batch: 2, calls: 2, steps: 1 },
    { ...ofTokens(), calls: 2 }
  ])
    it(`trains ${training.model.name} in bfloat16 to the same bits, whichever threads are the first`, function () {
      // Devices of odd numbers begin with the last ones.
      if (DEVICE !== 'cuda-host') this.skip()
      const [forwards, backwards] = [0, 1].map((device) => losses(DEVICE, 'bf16', training, undefined, device))
      expect(backwards).to.deep.equal(forwards)
    })

  it('trains on each of its devices alike, from one data set, and has no more than there are', async function () {
    // The GPU that a machine has at least is tested by all else.
    if (DEVICE !== 'cuda-host') this.skip()
    const { data } = lenet
    const [first, ...others] = [0, 1, 3].map((device) => losses(DEVICE, 'f32', lenet, () => engine.createDataset(data), device))
    for (const other of others) expect(other).to.deep.equal(first)
    // One that lies on several devices at once.
    const { program } = smallTraining(DEVICE, {})
    const samples = randomSamples(20)
    const replicas = [0, 2].map((device) => {
      const replica = engine.createReplica({ backend: DEVICE, device, layout: program.parameters, threads: 1, seed: 3 })
      return { replica, slot: engine.bind(replica, engine.createProgram(program), samples) }
    })
    const sums = replicas.map(
      ({ replica, slot }) => engine.run(replica, slot, { steps: 3, milliseconds: 60_000, position: 0, learningRate: 0.1 }).lossSum
    )
    expect(sums[0]).to.equal(sums[1])
    const layout = program.parameters
    const beyond = (device: number) => () => engine.createReplica({ backend: DEVICE, device, layout, threads: 1, seed: 3 })
    await refused('INVALID_OPTION', beyond(4), 'device', 'received 4', 'has 4 devices')
    await refused('INVALID_OPTION', beyond(-1), 'device', 'received -1')
  })

  for (const precision of ['f32', 'bf16'] as const) {
    it(`takes what streams in as what lies on the device, in ${precision}`, () => {
      // Cropped and flipped by position, normalised, over more than an epoch.
      const training = { ...lenet, load: { ...lenet.load, shuffled: false }, calls: 8 }
      expect(losses(DEVICE, precision, training, streamOf)).to.deep.equal(losses(DEVICE, precision, training))
    })

    it(`has every operator of every model of the zoo in ${precision}`, () => {
      for (const name of Object.keys(zoo)) {
        const model = modelNamed(name, familyOf(name)!.usual)
        // An evaluation has the loss of the one, and else the operators of the other.
        for (const mode of ['train', 'predict'] as const) compile(model, loweringBackend(engine, DEVICE), { batch: 2, mode, precision })
      }
    })
  }

  it('takes the step of all learners in lockstep, and their average, by one launch', function () {
    // Only the stand-in counts them.
    if (DEVICE !== 'cuda-host') this.skip()
    const { program, initial } = smallTraining(DEVICE, { momentum: 0.9 })
    const launched = (lockstep: boolean): number[] => {
      const run = new GroupRun(program, randomSamples(100), { initial, rule: sma({ lockstep }, { learners: 3 }) })
      for (const j of [0, 1, 2]) run.add(j)
      const before = launches()
      for (let t = 0; t < 5; t++) for (const step of ['compute', 'finish'] as const) for (const j of [0, 1, 2]) run[step](j)
      // What is queued counts once it has run.
      run.central()
      for (const j of [0, 1, 2]) run.weights(j)
      const after = launches()
      return ['18OptimiseAndAverageI', '8OptimiseI', '7AverageI'].map((kernel) => {
        const of = (counts: Readonly<Record<string, number>>) =>
          Object.entries(counts).reduce((sum, [name, count]) => sum + (name.includes(kernel) ? count : 0), 0)
        return of(after) - of(before)
      })
    }
    expect(launched(true)).to.deep.equal([5, 0, 0])
    expect(launched(false)).to.deep.equal([0, 15, 5])
  })

  it('takes from what is reserved before the driver, piece by piece, and again what was given back', async function () {
    // Only the stand-in's driver can be told that it has no more.
    if (DEVICE !== 'cuda-host') this.skip()
    const replica = (hidden = 16) => {
      const model = defineModel({ name: 'one', input: [12], layers: [linear(hidden), linear(5)] })
      const layout = smallTraining(DEVICE, {}, { model }).program.parameters
      return engine.createReplica({ backend: DEVICE, layout, threads: 1, seed: 1 })
    }
    const free = () => engine.freeMemory(DEVICE, 1, 0)!
    const limit = 'ARBALEST_CUDA_HOST_MEMORY'
    try {
      // Whatever other tests have had reserved is given back.
      process.env[limit] = '0'
      await refused('OUT_OF_MEMORY', () => replica())
      process.env[limit] = String(2 ** 40)
      const before = free()
      const first = replica()
      const piece = before - free()
      engine.reserve(DEVICE, 1, 3 * piece)
      expect(free()).to.equal(before - piece)
      // There is as much already.
      engine.reserve(DEVICE, 1, 2 * piece)
      process.env[limit] = '0'
      expect(free()).to.equal(3 * piece)
      const others = [replica(), replica(), replica()]
      expect(free()).to.equal(0)
      await refused('OUT_OF_MEMORY', () => replica())
      // Two neighbours make room for what neither holds.
      for (const given of others.splice(0, 2)) engine.release(given)
      const broad = replica(28)
      expect(free()).to.be.within(1, piece - 1)
      for (const given of [...others, broad]) engine.release(given)
      expect(free()).to.equal(3 * piece)
      // What nobody uses of it goes back where the driver is short of memory.
      process.env[limit] = String(2 ** 40 - before + 5 * piece)
      const larger = replica(60)
      for (const given of [first, larger]) engine.release(given)
    } finally {
      delete process.env[limit]
    }
  })

  it('says in one sentence why backend cuda is not to be had', function () {
    let error
    try {
      engine.bytes('cuda', [1], 'f32', 'plain')
      // A machine with a GPU has nothing to refuse.
      this.skip()
    } catch {
      error = thrown(() => engine.bytes('cuda', [1], 'f32', 'plain'))
    }
    expect(error.code).to.equal('BACKEND_UNAVAILABLE')
    expect(error.message).to.match(
      /^backend cuda: [^\n]+(not built on this machine; run `npx arbalest setup --cuda`|it needs an NVIDIA GPU and a driver)/
    )
  })
})
