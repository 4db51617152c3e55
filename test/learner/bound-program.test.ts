import { expect } from 'chai'
import { StepRunner } from '../../src/learner/step-runner.js'
import { BoundProgram } from '../../src/learner/bound-program.js'
import { StepOrder } from '../../src/learner/step-order.js'
import { Heartbeat } from '../../src/learner/heartbeat.js'
import { compile } from '../../src/compiler/compile.js'
import type { Handle } from '../../src/engine/contract.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import { defineModel, flatten, linear } from '../../src/model/layers.js'
import { refused } from '../support/codes.js'

const BATCH = 4
const SAMPLE = [1, 2, 2]
const model = defineModel({ name: 'small', input: SAMPLE, layers: [flatten(), linear(3)] })
/** Longer than a native call waits for data. */
const LATE = 120

describe('a program that does not train, on data that streams in', () => {
  let stream: Handle
  let replica: Handle
  let heartbeat: Heartbeat
  let runner: StepRunner
  let program: BoundProgram
  beforeEach(() => {
    const compiled = compile(model, loweringBackend(engine, 'reference'), { mode: 'evaluate', batch: BATCH, precision: 'f32' })
    stream = engine.createStream({ count: 100, sample: SAMPLE, classes: 3, batch: BATCH, slots: 3 })
    replica = engine.createReplica({ backend: 'reference', layout: compiled.parameters, threads: 1, seed: 1 })
    const handle = engine.createProgram(compiled)
    const slot = engine.bind(replica, handle, stream)
    engine.release(handle)
    heartbeat = new Heartbeat()
    runner = new StepRunner(heartbeat)
    program = new BoundProgram(
      { engine, handle: replica, runner, order: new StepOrder(), stepping: undefined, learningRate: undefined },
      slot,
      compiled
    )
  })
  afterEach(() => {
    engine.release(replica)
    engine.release(stream)
  })

  /** Feeds the next batch that is waited for. Sample s is four times the byte s. */
  const feed = () => {
    const { turn, position, count, samples } = engine.nextBatch(stream, 'waited')!
    const numbers = samples ? [...samples] : Array.from({ length: count }, (_, i) => position + i)
    const pixels = Uint8Array.from(numbers.flatMap((number) => [number, number, number, number]))
    engine.feedBatch(
      stream,
      turn,
      pixels,
      Int32Array.from(numbers, (number) => number % 3)
    )
  }
  const loaded = () => [...(program.read('target') as Int32Array)]

  it('loads the samples that it was given, however late they come, and beats meanwhile', async () => {
    setTimeout(feed, LATE)
    await program.load({ samples: [5, 7, 9, 11] })
    expect(loaded()).to.deep.equal([2, 1, 0, 2])
    await program.forward()
    expect(
      [...(program.read('input') as Float32Array)].map((pixel) => Math.round(pixel * 255)).filter((_, i) => i % 4 === 0)
    ).to.deep.equal([5, 7, 9, 11])
    expect(heartbeat.beats).to.be.greaterThan(0)
    expect(heartbeat.steps).to.equal(0)
  })

  it('runs from the position that it was given', async () => {
    setTimeout(feed, LATE)
    expect(await program.run(1, { position: 20 })).to.include({ outcome: 'ran', steps: 1 })
    expect(loaded()).to.deep.equal([2, 0, 1, 2])
  })

  it('tells what it cannot take as options of its caller, and not as a fault of its program', async () => {
    await refused('INVALID_OPTION', () => program.run(2.5), 'steps: received 2.5')
    await refused('INVALID_OPTION', () => program.run(Infinity), 'steps: received Infinity')
    await refused('INVALID_OPTION', () => program.run(1, { position: 0.5 }), 'position: received 0.5')
    await refused('INVALID_OPTION', () => program.load({ samples: [1, 2, 3, 0.5] }), 'samples: received 0.5')
    await refused('INVALID_OPTION', () => program.load({ samples: [1, 2, 3, 100] }), 'samples: received 100')
    for (const few of [[], [1, 2, 3]])
      await refused('INVALID_OPTION', () => program.load({ samples: few }), `${few.length} numbers`, 'the batch of 4')
    await refused(
      'INVALID_OPTION',
      () => program.write('output', [1, 2, 3] as unknown as Float32Array),
      'output: received [1,2,3]',
      'Float32Array'
    )
  })

  for (const [how, end] of [
    ['its replica is cancelled', () => engine.cancel(replica)],
    ['its learner ends', () => runner.close()]
  ] as const)
    it(`is interrupted if ${how} while it waits`, async () => {
      setTimeout(end, LATE)
      await refused('ABORTED', () => program.run(1), 'cancelled')
    })
})
