import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import * as Comlink from 'comlink/dist/esm/comlink.mjs'
import { MessageChannel, Worker } from 'node:worker_threads'
import type { Asks } from '../../src/runtime/actor.js'
import { comlinkEndpoint, exposeToComlink } from '../../src/runtime/comlink.js'
import { ActorSystem } from '../../src/runtime/system.js'
import { refused } from '../support/codes.js'
import { rejection } from '../support/rejection.js'
import { warningsIn } from '../support/warnings.js'
import type { Faulty, Recorder } from './support/actors.js'

const ACTORS = new URL('./support/actors.js', import.meta.url)
const COMLINK_MODULE = new URL('../../src/runtime/comlink.js', import.meta.url)

describe('Comlink', () => {
  let system: ActorSystem
  beforeEach(() => (system = new ActorSystem()))
  afterEach(() => system.stop())

  const faulty = () => system.spawn<typeof Faulty>(ACTORS, 'Faulty', {})

  it('leaves what is no call of comlink, with a warning, and answers what is', async () => {
    const { port1, port2 } = new MessageChannel()
    exposeToComlink(await faulty(), port1)
    const remote = Comlink.wrap<Asks<Faulty>>(comlinkEndpoint(port2))
    const warnings = await warningsIn(async () => {
      for (const garbage of [null, 5, 'stop', {}]) port2.postMessage(garbage)
      expect(await remote.alive()).to.equal(true)
    })
    expect(warnings).to.have.length(4)
    remote[Comlink.releaseProxy]()
  })

  for (const way of ['of a ref', 'of a port'] as const) {
    const endpointOf = (target: { readonly ask: object }) => {
      if (way === 'of a ref') return comlinkEndpoint(target)
      const { port1, port2 } = new MessageChannel()
      exposeToComlink(target, port1)
      return comlinkEndpoint(port2)
    }

    it(`calls an actor through the endpoint ${way}, in order`, async () => {
      const recorder = await system.spawn<typeof Recorder>(ACTORS, 'Recorder', {})
      const remote = Comlink.wrap<Asks<Recorder>>(endpointOf(recorder))
      await Promise.all([remote.slowly('a', 10), remote.note('b')])
      expect(await remote.log()).to.deep.equal(['a begins', 'a ends', 'b'])
      remote[Comlink.releaseProxy]()
    })

    it(`throws the actor’s error, complete, ${way}`, async () => {
      const remote = Comlink.wrap<Asks<Faulty>>(endpointOf(await faulty()))
      const error = await refused('DATA_CORRUPT', () => remote.fail())
      expect(error.data).to.deep.equal({ at: 7 })
      expect(error.cause).to.be.instanceOf(RangeError)
      expect(await rejection(remote.throwNothing())).to.deep.equal({ not: 'an error' })
      expect(await rejection(remote.unpostable())).to.have.property('name', 'DataCloneError')
      remote[Comlink.releaseProxy]()
    })

    it(`rejects open and later calls when the actor dies, ${way}`, async () => {
      const actor = await faulty()
      const remote = Comlink.wrap<Asks<Faulty>>(endpointOf(actor))
      const pending = rejection(remote.later())
      await remote.alive()
      actor.tell.exit(3)
      expect(await pending).to.have.property('code', 'ACTOR_GONE')
      await refused('ACTOR_GONE', () => remote.alive())
      remote[Comlink.releaseProxy]()
    })
  }

  it('rejects open and later calls when the thread at the other end dies', async () => {
    const { port1, port2 } = new MessageChannel()
    const code = `
      import('${COMLINK_MODULE.href}').then(({ exposeToComlink }) => {
        const { workerData } = require('node:worker_threads')
        const ask = { hello: () => Promise.resolve('hello'), never: () => new Promise(() => {}), die: () => process.exit(1) }
        exposeToComlink({ ask }, workerData)
      })`
    const worker = new Worker(code, { eval: true, workerData: port2, transferList: [port2] })
    const remote = Comlink.wrap<{ hello(): string; never(): void; die(): void }>(comlinkEndpoint(port1))
    expect(await remote.hello()).to.equal('hello')
    const pending = [rejection(remote.never()), rejection(remote.die())]
    for (const error of await Promise.all(pending)) expect(error).to.have.property('code', 'ACTOR_GONE')
    await refused('ACTOR_GONE', () => remote.hello(), 'hello')
    await worker.terminate()
  })

  it('rejects calls over a port whose other end has closed before, and lets its thread end', async () => {
    const body = `
      import { MessageChannel } from 'node:worker_threads'
      import * as Comlink from '${import.meta.resolve('comlink/dist/esm/comlink.mjs')}'
      import { comlinkEndpoint } from '${COMLINK_MODULE.href}'
      const { port1, port2 } = new MessageChannel()
      port1.close()
      setTimeout(async () => {
        const remote = Comlink.wrap(comlinkEndpoint(port2))
        const hangs = new Promise((resolve) => setTimeout(resolve, 2_000, 'hangs').unref())
        console.log(await Promise.race([remote.hello().catch(({ code }) => code), hangs]))
      }, 50)`
    const { stdout, stderr, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', body], {
      encoding: 'utf8',
      timeout: 20_000
    })
    expect(stderr).to.equal('')
    expect(stdout).to.equal('ACTOR_GONE\n')
    expect(signal).to.equal(null)
  })

  it('says that an actor has methods only', async () => {
    const remote = Comlink.wrap<{ field: number }>(comlinkEndpoint(await faulty()))
    await refused('UNKNOWN_NAME', async () => void (await remote.field), 'field')
  })
})
