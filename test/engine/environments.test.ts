import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import type { Handle } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import { reluProgram } from './support/program.js'

const NATIVE = new URL('../../src/engine/native.js', import.meta.url).href

/** A worker that has loaded the addon, made a replica of the program and run it, and at the next message does `then`. */
function worker(program: Handle, then: string): Worker {
  const code = `
    import { parentPort } from 'node:worker_threads'
    import { engine } from ${JSON.stringify(NATIVE)}
    const layout = ${JSON.stringify(reluProgram().parameters)}
    const replica = engine.createReplica({ backend: 'reference', layout, threads: 1, seed: 1 })
    const slot = engine.bind(replica, ${program})
    engine.writeValue(replica, slot, 'x', Float32Array.of(-1, 2, -3, 4))
    engine.run(replica, slot, { steps: 1, milliseconds: 50 })
    parentPort.postMessage([...engine.readValue(replica, slot, 'y')])
    parentPort.once('message', () => { ${then} })`
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`))
}

async function result(running: Worker): Promise<number[]> {
  const [values] = (await once(running, 'message')) as [number[]]
  return values
}

describe('the addon in several environments', () => {
  const endings: Record<string, { then: string; terminate?: boolean; exitCode: number }> = {
    returns: { then: '', exitCode: 0 },
    'calls process.exit': { then: 'process.exit(3)', exitCode: 3 },
    throws: { then: `throw new Error('on purpose')`, exitCode: 1 },
    'is terminated in JavaScript': { then: 'for (;;) ;', terminate: true, exitCode: 1 },
    'is terminated in a native call': {
      then: 'for (;;) engine.run(replica, slot, { steps: 1e9, milliseconds: 200 })',
      terminate: true,
      exitCode: 1
    }
  }

  for (const [ending, { then, terminate, exitCode }] of Object.entries(endings))
    it(`lets four workers load it, run, and end where each ${ending}`, async () => {
      const program = engine.createProgram(reluProgram())
      const workers = Array.from({ length: 4 }, () => worker(program, then))
      const exits = workers.map((each) => {
        each.on('error', () => {})
        return new Promise<number>((resolve) => each.once('exit', resolve))
      })
      for (const values of await Promise.all(workers.map(result))) expect(values).to.deep.equal([0, 2, 0, 4])
      for (const each of workers) each.postMessage('go')
      if (terminate) await Promise.all(workers.map((each) => each.terminate()))
      for (const code of await Promise.all(exits)) expect(code).to.equal(exitCode)
      engine.release(program)
    })

  it('keeps what a worker made alive in the thread that has resolved it', async () => {
    const code = `
      import { parentPort } from 'node:worker_threads'
      import { engine } from ${JSON.stringify(NATIVE)}
      const program = engine.createProgram(${JSON.stringify(reluProgram())})
      parentPort.once('message', () => {})
      parentPort.postMessage(program)`
    const making = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`))
    const [program] = (await once(making, 'message')) as [Handle]
    const replica = engine.createReplica({ backend: 'reference', layout: reluProgram().parameters, threads: 1, seed: 1 })
    expect(engine.bind(replica, program)).to.equal(0)
    making.postMessage('go')
    await once(making, 'exit')
    expect(engine.bind(replica, program)).to.equal(1)
    engine.release(program)
    engine.release(replica)
    expect(() =>
      engine.createReplica({ backend: 'reference', layout: reluProgram().parameters, threads: 1, seed: 1, group: program, learner: 0 })
    )
      .to.throw()
      .with.property('code', 'STALE_HANDLE')
  })

  it('leaves the arithmetic of its caller as it was: denormal numbers are not flushed to zero', () => {
    const replica = engine.createReplica({ backend: 'cpu', layout: reluProgram().parameters, threads: 1, seed: 1 })
    const slot = engine.bind(replica, engine.createProgram(reluProgram({ backend: 'cpu' })))
    // By its bits: arithmetic that flushes would find its own wrong answer equal to another.
    const numbers = Float64Array.of(Number.MIN_VALUE * 4, 2, 0)
    engine.run(replica, slot, { steps: 1, milliseconds: 1 })
    numbers[2] = numbers[0]! / numbers[1]!
    expect(new BigUint64Array(numbers.buffer)[2]).to.equal(2n)
  })

  it('tells one kind of handle from another', () => {
    const program = engine.createProgram(reluProgram())
    expect(() => engine.run(program, 0, { steps: 1, milliseconds: 1 }))
      .to.throw()
      .with.property('code', 'STALE_HANDLE')
    expect(() => engine.run(1e15, 0, { steps: 1, milliseconds: 1 }))
      .to.throw()
      .with.property('code', 'STALE_HANDLE')
    expect(() => engine.run('7' as unknown as Handle, 0, { steps: 1, milliseconds: 1 })).to.throw()
  })
})
