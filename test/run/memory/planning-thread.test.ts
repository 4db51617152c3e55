import { expect } from 'chai'
import { compile, type CompileOptions } from '../../../src/compiler/compile.js'
import { loweringBackend } from '../../../src/engine/lowering.js'
import { engine } from '../../../src/engine/native.js'
import { modelNamed } from '../../../src/model/zoo/index.js'
import { PlanningThread } from '../../../src/run/memory/planning-thread.js'
import { StoppedEarly } from '../../../src/run/stopped-early.js'
import { rejection } from '../../support/rejection.js'

const ENGINE = new URL('../../../src/engine/native.js', import.meta.url).href
const model = modelNamed('lenet', { input: [1, 28, 28], classes: 10 })
const lowering = loweringBackend(engine, 'cpu', 1)
const speed = { flopsPerSecond: 1e11, bytesPerSecond: 1e10, cacheBytesPerSecond: 1e10, cacheBytes: 0 }
const step: Omit<CompileOptions, 'limit'> = { mode: 'train', batch: 16, precision: 'f32' }
const within = (activations: number) => ({ ...step, limit: { activations, speed } })

function planning({ engine: own = engine, stop }: { engine?: typeof engine; stop?: AbortSignal } = {}): PlanningThread {
  return new PlanningThread({ engine: ENGINE, backend: 'cpu', threads: 1, model }, own, stop)
}

describe('the thread in which a plan is searched for', () => {
  it('finds the program that this thread finds, and the same floor', async () => {
    const floor = compile(model, lowering, within(0))
    await using thread = planning()
    expect(await thread.compile(within(0))).to.deep.equal(floor)
    const error = await rejection(thread.compile(within(1)))
    expect(error).to.include({ code: 'OUT_OF_MEMORY' })
    expect(error).to.have.nested.property('data.floor', floor.arenas.activations)
  })

  it('gives back what it has taken when it ends, and is not begun for nothing', async () => {
    for (const searches of [true, false]) {
      let trims = 0
      {
        await using thread = planning({ engine: { ...engine, trim: () => void trims++ } })
        if (searches) await thread.compile(within(0))
        trims = 0
      }
      expect(trims).to.equal(searches ? 1 : 0)
    }
  })

  it('ends with the run that is stopped', async () => {
    const stop = new AbortController()
    await using thread = planning({ stop: stop.signal })
    const compiled = rejection(thread.compile(within(0)))
    stop.abort()
    expect(await compiled).to.be.instanceOf(StoppedEarly)
  })
})
