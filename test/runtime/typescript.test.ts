import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect } from 'chai'
import type { DeferredReply } from '../../src/runtime/actor.js'
import type { ActorContext } from '../../src/runtime/context.js'
import { ActorSystem } from '../../src/runtime/system.js'
import { refused } from '../support/codes.js'

/** Inside the package, where its own name leads to the build. */
const BUILD = fileURLToPath(new URL('../..', import.meta.url))

const STEP = `export const step: number = 2\n`

const COUNTER = `
import { ArbalestError, DeferredReply, type ActorContext } from 'arbalest/runtime'
import { step } from './step.js'

export interface CounterOptions {
  readonly from: number
}

export class Counter {
  readonly #context: ActorContext<Counter>
  #count: number

  constructor(options: CounterOptions, context: ActorContext<Counter>) {
    this.#context = context
    this.#count = options.from
  }

  add(times: number): number {
    return (this.#count += times * step)
  }

  later(): DeferredReply<number> {
    return new DeferredReply(Promise.resolve(this.#count))
  }

  refuse(): never {
    throw new ArbalestError('INVALID_STATE', 'counter: told to refuse')
  }

  /** The count of a child in a thread of its own, made by the same module. */
  async childsCount(): Promise<number> {
    const child = await this.#context.spawn<typeof Counter>(new URL(import.meta.url), 'Counter', { from: 7 })
    return child.ask.add(1)
  }
}
`

interface Counter {
  add(times: number): number
  later(): DeferredReply<number>
  refuse(): never
  childsCount(): Promise<number>
}
type CounterClass = new (options: { readonly from: number }, context: ActorContext<Counter>) => Counter

describe('An actor in a TypeScript module', () => {
  let folder: string
  let system: ActorSystem
  before(() => {
    folder = mkdtempSync(join(BUILD, 'typescript-'))
    writeFileSync(join(folder, 'step.ts'), STEP)
    writeFileSync(join(folder, 'counter.ts'), COUNTER)
    writeFileSync(join(folder, 'broken.ts'), 'export class Broken {')
  })
  after(() => rmSync(folder, { recursive: true }))
  beforeEach(() => (system = new ActorSystem()))
  afterEach(() => system.stop({ deadline: 200 }))

  const module = (name: string) => pathToFileURL(join(folder, name))
  const spawn = () => system.spawn<CounterClass>(module('counter.ts'), 'Counter', { from: 40 })

  it('answers, defers replies and fails as one in JavaScript does, and has children of its own module', async () => {
    const counter = await spawn()
    expect(await counter.ask.add(1)).to.equal(42)
    expect(await counter.ask.later()).to.equal(42)
    await refused('INVALID_STATE', () => counter.ask.refuse(), 'told to refuse')
    expect(await counter.ask.childsCount()).to.equal(9)
  })

  it('is refused with the names of the module’s classes, or with its syntax error', async () => {
    await refused('UNKNOWN_NAME', () => system.spawn(module('counter.ts'), 'Nobody', undefined as never), 'Nobody', 'Counter')
    const error: unknown = await system.spawn(module('broken.ts'), 'Broken', undefined as never).catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(Error)
    expect((error as Error).message).to.include('broken.ts')
  })
})
