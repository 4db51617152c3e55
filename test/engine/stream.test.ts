import { setTimeout as after } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { compile } from '../../src/compiler/compile.js'
import type { EngineBackend } from '../../src/compiler/program.js'
import type { BatchRequest, Handle, RunReport, StreamSpec } from '../../src/engine/contract.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import { defineModel, flatten, linear } from '../../src/model/layers.js'
import { thrown } from '../support/thrown.js'
import { testedBackends } from './support/backends.js'

const NATIVE = new URL('../../src/engine/native.js', import.meta.url).href
const SAMPLE = [1, 2, 2]
const BATCH = 4
const model = defineModel({ name: 'small', input: SAMPLE, layers: [flatten(), linear(3)] })

/** A reader of a stream, driven call by call in this thread. */
class Reader {
  readonly replica: Handle
  readonly slot: number

  constructor(backend: EngineBackend, stream: Handle, batch = BATCH) {
    const program = compile(model, loweringBackend(engine, backend), { mode: 'evaluate', batch, precision: 'f32' })
    this.replica = engine.createReplica({ backend, layout: program.parameters, threads: 1, seed: 1 })
    const handle = engine.createProgram(program)
    this.slot = engine.bind(this.replica, handle, stream)
    engine.release(handle)
  }

  run(position: number, milliseconds = 0): RunReport {
    return engine.run(this.replica, this.slot, { steps: 1, milliseconds, position })
  }

  /** What was loaded, as bytes. */
  get pixels(): number[] {
    return [...(engine.readValue(this.replica, this.slot, 'input') as Float32Array)].map((pixel) => Math.round(pixel * 255))
  }

  release(): void {
    engine.release(this.replica)
  }
}

/** The samples that a feeder makes of a request: sample s is four times the byte s. */
function made({ position, count, samples }: Omit<BatchRequest, 'turn'>): { pixels: Uint8Array; labels: Int32Array; numbers: number[] } {
  const numbers = samples ? [...samples] : Array.from({ length: count }, (_, i) => (position + i) % 100)
  return {
    numbers,
    pixels: Uint8Array.from(numbers.flatMap((number) => [number, number, number, number])),
    labels: Int32Array.from(numbers, (number) => number % 3)
  }
}

for (const { name: backend } of testedBackends())
  describe(`A stream of batches, read on ${backend}`, () => {
    const handles: Handle[] = []
    const readers: Reader[] = []
    const stream = (changes: Partial<StreamSpec> = {}): Handle => {
      const handle = engine.createStream({ count: 100, sample: SAMPLE, classes: 3, batch: BATCH, slots: 3, ...changes })
      handles.push(handle)
      return handle
    }
    const reader = (from: Handle, batch?: number): Reader => {
      const created = new Reader(backend, from, batch)
      readers.push(created)
      return created
    }
    const feed = (handle: Handle, request: BatchRequest | null): number => {
      const { pixels, labels } = made(request!)
      engine.feedBatch(handle, request!.turn, pixels, labels)
      return request!.position
    }
    const ahead = (handle: Handle): number[] => {
      const positions: number[] = []
      for (let next = engine.nextBatch(handle, 'ahead'); next; next = engine.nextBatch(handle, 'ahead')) positions.push(feed(handle, next))
      return positions
    }
    afterEach(() => {
      for (const each of readers.splice(0)) each.release()
      for (const each of handles.splice(0)) engine.release(each)
    })

    it('is filled ahead of its readers, as far as it has slots, and no batch is made twice', () => {
      const train = stream()
      expect(ahead(train)).to.deep.equal([0, 4, 8])
      const [first, second] = [reader(train), reader(train)]
      const order: number[] = []
      for (let step = 0; step < 8; step++) {
        for (const [rank, each] of [first, second].entries()) {
          const position = (2 * step + rank) * BATCH
          expect(each.run(position).outcome, `position ${position}`).to.equal('ran')
          expect(each.pixels).to.deep.equal([...made({ position, count: BATCH }).pixels])
          order.push(...ahead(train))
        }
      }
      expect(order).to.deep.equal(Array.from({ length: 16 }, (_, i) => 12 + i * BATCH))
      expect(engine.streamStatus(train)).to.include({ filling: 0, ready: 3, taken: 0, waiting: 0, batches: 16 })
    })

    it('lets a reader wait in slices for a batch that is not there, and tells how long', () => {
      const train = stream()
      const late = reader(train)
      const report = late.run(40, 25)
      expect([report.outcome, report.steps]).to.deep.equal(['waiting', 0])
      expect(report.dataSeconds).to.be.above(0.02)
      expect(report.waitSeconds).to.equal(0)
      expect(engine.streamStatus(train)).to.include({ waiting: 1, batches: 0 })
      expect(feed(train, engine.nextBatch(train, 'waited'))).to.equal(40)
      expect(engine.nextBatch(train, 'waited')).to.equal(null)
      expect(late.run(40).outcome).to.equal('ran')
      expect(late.pixels[0]).to.equal(40)
      expect(engine.streamStatus(train).waitSeconds).to.be.above(0.02)
      expect(engine.nextBatch(train, 'ahead')).to.include({ position: 44, count: BATCH })
    })

    it('serves a batch that is waited for before any ahead, in the place of one that nobody has asked for', () => {
      const train = stream()
      ahead(train)
      const jumping = reader(train)
      expect(jumping.run(80).outcome).to.equal('waiting')
      expect(feed(train, engine.nextBatch(train, 'waited'))).to.equal(80)
      expect(jumping.run(80).outcome).to.equal('ran')
      // What was made for nobody goes as the reader goes on.
      expect(ahead(train)).to.deep.equal([84, 88, 92])
    })

    it('makes every second batch alone where another host reads those between', () => {
      const train = stream()
      const each = reader(train)
      const order: number[] = []
      for (let position = 8; position <= 160; position += 8) {
        if (each.run(position).outcome !== 'ran') {
          feed(train, engine.nextBatch(train, 'waited'))
          expect(each.run(position).outcome, `position ${position}`).to.equal('ran')
        }
        order.push(...ahead(train))
      }
      expect(order.slice(-10)).to.deep.equal(Array.from({ length: 10 }, (_, i) => 112 + 8 * i))
    })

    it('keeps what a slow reader has yet to take, and drops what was made for one that is gone', () => {
      const train = stream({ slots: 4 })
      const [slow, fast] = [reader(train), reader(train)]
      ahead(train)
      slow.run(0)
      fast.run(4)
      expect(ahead(train)).to.deep.equal([16, 20])
      // The fast one goes on; 8 is the slow one's, and is not in anybody's way.
      fast.run(12)
      fast.run(20)
      ahead(train)
      expect(slow.run(8).outcome).to.equal('ran')
      expect(slow.run(16).outcome).to.equal('ran')
      slow.release()
      readers.splice(readers.indexOf(slow), 1)
      for (let position = 28; position < 200; position += 8) {
        ahead(train)
        expect(fast.run(position).outcome, `position ${position}`).to.equal('ran')
      }
      expect(engine.streamStatus(train)).to.include({ filling: 0, taken: 0, waiting: 0 })
    })

    it('gives out anew what a feeder left unfinished, and passes over what it brings too late', () => {
      const train = stream()
      const left = engine.nextBatch(train, 'ahead')!
      const calls: number[] = []
      engine.watchStream(train, () => calls.push(1))
      const anew = engine.nextBatch(train, 'ahead')!
      expect(anew).to.deep.equal({ ...left, turn: anew.turn })
      feed(train, left)
      expect(engine.streamStatus(train)).to.include({ ready: 0, filling: 1 })
      feed(train, anew)
      feed(train, anew)
      engine.feedBatch(train, 400, new Uint8Array(0), new Int32Array(0))
      expect(engine.streamStatus(train)).to.include({ ready: 1, filling: 0 })
    })

    it('wakes its feeder where there is something to do', async () => {
      const train = stream()
      let calls = 0
      engine.watchStream(train, () => calls++)
      await after(20)
      expect(calls, 'at first').to.equal(1)
      ahead(train)
      const each = reader(train)
      await after(20)
      expect(calls, 'nothing to do').to.equal(1)
      each.run(0)
      await after(20)
      expect(calls, 'a slot is free').to.be.above(1)
    })

    it('reads a range again and again, and makes each batch once where all have a slot', () => {
      const test = stream({ range: [0, 10], slots: 3 })
      const [whole, rest] = [reader(test), reader(test, 2)]
      const requests: BatchRequest[] = []
      for (let next = engine.nextBatch(test, 'ahead'); next; next = engine.nextBatch(test, 'ahead')) {
        requests.push(next)
        feed(test, next)
      }
      expect(requests.map(({ position, count }) => ({ position, count }))).to.deep.equal([
        { position: 0, count: 4 },
        { position: 4, count: 4 },
        { position: 8, count: 2 }
      ])
      for (let pass = 0; pass < 3; pass++) {
        for (const position of [0, 4]) expect(whole.run(position).outcome).to.equal('ran')
        expect(rest.run(8).outcome).to.equal('ran')
        expect(rest.pixels).to.deep.equal([8, 8, 8, 8, 9, 9, 9, 9])
        expect(engine.nextBatch(test, 'ahead')).to.equal(null)
      }
    })

    it('makes a range anew, from its start, where it has fewer slots', () => {
      const test = stream({ range: [0, 24], slots: 2 })
      const each = reader(test)
      const order = ahead(test)
      for (let pass = 0; pass < 2; pass++)
        for (let position = 0; position < 24; position += BATCH) {
          expect(each.run(position).outcome).to.equal('ran')
          order.push(...ahead(test))
        }
      expect(order).to.deep.equal([0, 4, 8, 12, 16, 20, 0, 4, 8, 12, 16, 20, 0, 4])
    })

    it('makes the samples that a learner has chosen in the place of those whose turn it is', () => {
      const train = stream()
      ahead(train)
      const program = compile(model, loweringBackend(engine, backend), { mode: 'evaluate', batch: BATCH, precision: 'f32' })
      const replica = engine.createReplica({ backend, layout: program.parameters, threads: 1, seed: 1 })
      const slot = engine.bind(replica, engine.createProgram(program), train)
      const samples = [7, 7, 99, 0]
      expect(engine.runSegment(replica, slot, 'load', { milliseconds: 0, samples })).to.equal('waiting')
      const request = engine.nextBatch(train, 'waited')
      expect(request).to.deep.include({ position: 0, count: BATCH, samples })
      feed(train, request)
      expect(engine.runSegment(replica, slot, 'load', { milliseconds: 0, samples })).to.equal('ran')
      const pixels = [...(engine.readValue(replica, slot, 'input') as Float32Array)].map((pixel) => Math.round(pixel * 255))
      expect(pixels.filter((_, i) => i % 4 === 0)).to.deep.equal(samples)
      engine.release(replica)
    })

    it('refuses what cannot be, with what was received', () => {
      expect(thrown(() => stream({ slots: 0 })).code).to.equal('INVALID_OPTION')
      expect(thrown(() => stream({ range: [4, 4] })).message).to.include('range')
      const train = stream()
      const { turn } = engine.nextBatch(train, 'ahead')!
      expect(thrown(() => engine.feedBatch(train, turn, new Uint8Array(15), new Int32Array(4))).code).to.equal('SHAPE_MISMATCH')
      const label = thrown(() => engine.feedBatch(train, turn, new Uint8Array(16), Int32Array.of(0, 1, 3, 0)))
      expect(label.code).to.equal('LABEL_OUT_OF_RANGE')
      expect(label.message).to.include('class 3')
      const pixels = stream({ label: [2, 2] })
      const { turn: next } = engine.nextBatch(pixels, 'ahead')!
      const fed = (targets: Int32Array | Float32Array, to = pixels) => thrown(() => engine.feedBatch(to, next, new Uint8Array(16), targets))
      expect(fed(new Int32Array(4)).message).to.include('received 16 bytes and 4 labels; give 16 and 16 labels')
      expect(fed(new Float32Array(16)).message).to.include('received 16 bytes and 16 targets; give 16 and 16 labels')
      expect(fed(new Int32Array(16).fill(-1, 9).fill(-2, 15)).message).to.include('sample 3 at position 0 has class -2')
      engine.feedBatch(pixels, next, new Uint8Array(16), new Int32Array(16).fill(-1, 9))
      const numbers = stream({ target: [2] })
      engine.nextBatch(numbers, 'ahead')
      expect(fed(new Int32Array(8), numbers).message).to.include('received 16 bytes and 8 labels; give 16 and 8 targets')
      expect(thrown(() => stream({ label: [0] })).code).to.equal('SHAPE_MISMATCH')
      const memory = engine.createDataset({ count: 1, sample: SAMPLE, samples: new Uint8Array(4), labels: new Int32Array(1), classes: 3 })
      expect(thrown(() => engine.nextBatch(memory, 'ahead')).code).to.equal('STALE_HANDLE')
      engine.release(memory)
    })

    it('goes on without a feeder whose thread has ended, however it did, and with the next', async () => {
      const train = stream()
      for (const ending of ['process.exit(0)', 'throw new Error("on purpose")', 'setInterval(() => {}, 1000)']) {
        const code = `
          import { parentPort } from 'node:worker_threads'
          import { engine } from ${JSON.stringify(NATIVE)}
          engine.watchStream(${train}, () => {})
          engine.nextBatch(${train}, 'ahead')
          parentPort.postMessage('watching')
          setTimeout(() => { ${ending} }, 5)`
        const feeder = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`))
        feeder.on('error', () => {})
        const exited = new Promise((resolve) => feeder.once('exit', resolve))
        await new Promise((resolve) => feeder.once('message', resolve))
        if (ending.startsWith('setInterval')) await feeder.terminate()
        await exited
        const each = reader(train)
        expect(each.run(0).outcome, ending).to.equal('waiting')
        each.release()
        readers.pop()
      }
      engine.watchStream(train, () => {})
      expect(ahead(train)[0]).to.equal(0)
    })
  })
