import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import * as actors from '../src/actors/index.js'
import { ArbalestError, shown } from '../src/errors.js'
import * as arbalest from '../src/index.js'
import * as runtime from '../src/runtime/index.js'
import * as testkit from '../src/runtime/testkit/index.js'
import { Folder } from './data/support/files.js'

type Call = (...args: readonly unknown[]) => unknown
type Construct = new (...args: readonly unknown[]) => unknown

/** What programs in JavaScript give by mistake: they have no types. */
const WRONG: readonly unknown[] = [
  undefined,
  null,
  5,
  -1,
  NaN,
  1e300,
  'zzz',
  '',
  'a\0b',
  true,
  5n,
  Symbol('s'),
  [],
  [null],
  ['q'],
  {},
  Object.create(null),
  { a: { b: null } },
  new Map([[1, 2]]),
  new Date(0),
  new Uint8Array(3),
  Promise.resolve(1),
  () => 1
]

/** The entries of package.json. */
const ENTRIES = { '.': arbalest, './actors': actors, './runtime': runtime, './runtime/testkit': testkit }

/** What is thrown, now or later; undefined for nothing. */
async function thrownBy(call: Call, args: readonly unknown[]): Promise<unknown> {
  try {
    const made = isClass(call) ? new (call as unknown as Construct)(...args) : call(...args)
    const { finished = made, model } = Object(made) as { readonly finished?: unknown; readonly model?: unknown }
    // That of a job is refused with it.
    if (model instanceof Promise) model.catch(() => {})
    await finished
    return undefined
  } catch (error) {
    return error
  }
}

function isClass(call: Call): boolean {
  return Function.prototype.toString.call(call).startsWith('class ')
}

/** Calls that end in an error without a code. */
async function bareErrors(calls: Iterable<readonly [name: string, call: Call, args: readonly unknown[]]>): Promise<string[]> {
  const bare: string[] = []
  for (const [name, call, args] of calls) {
    const error = await thrownBy(call, args)
    if (error === undefined || (error instanceof ArbalestError && error.code !== 'INTERNAL')) continue
    bare.push(`${name}(${args.map(shown).join(', ')}): ${error instanceof Error ? error.message : shown(error)}`)
  }
  return bare
}

/** An error's own constructor passes on what it gets, as `Error` does. */
const functionsOf = (entry: object) =>
  Object.entries(entry).filter(([name, value]) => typeof value === 'function' && name !== 'ArbalestError') as [string, Call][]

/** Each argument, and each member of one that is an object, replaced by what it must not be. */
function* withOneWrong(args: readonly unknown[]): Generator<readonly unknown[]> {
  for (const [i, given] of args.entries())
    for (const wrong of WRONG) {
      yield args.with(i, wrong)
      if (typeof given !== 'object' || given === null || Object.getPrototypeOf(given) !== Object.prototype) continue
      for (const name of [...Object.keys(given), 'unknown']) yield args.with(i, { ...given, [name]: wrong })
    }
}

describe('A public function that is called with wrong arguments throws an error with a code:', () => {
  // Some of them write what they are given to a file of the name that they are given.
  const started = process.cwd()
  let working: Folder
  // Without a folder of real data: to check all of these takes minutes.
  const { ARBALEST_DATA } = process.env
  before(() => void delete process.env['ARBALEST_DATA'])
  after(() => void (ARBALEST_DATA !== undefined && (process.env['ARBALEST_DATA'] = ARBALEST_DATA)))
  before(async () => {
    working = await Folder.make()
    process.chdir(working.path)
  })
  after(async () => {
    process.chdir(started)
    await working[Symbol.asyncDispose]()
  })

  it('all entries of the package are here', () => {
    const { exports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { exports: object }
    expect(Object.keys(exports).filter((name) => name !== './package.json')).to.deep.equal(Object.keys(ENTRIES))
  })

  for (const [entry, exported] of Object.entries(ENTRIES))
    it(`those of ${entry}, with one kind of value for all arguments`, async () => {
      const calls = functionsOf(exported).flatMap(([name, call]) =>
        WRONG.flatMap((wrong) => [[], [wrong], [wrong, wrong], [wrong, wrong, wrong]].map((args) => [name, call, args] as const))
      )
      expect(await bareErrors(calls)).to.deep.equal([])
    })

  it('with right arguments but one, and right options but one', async () => {
    await using folder = await Folder.make()
    const at = (name: string) => join(folder.path, name)
    writeFileSync(at('t.csv'), 'a,b\n1,x\n2,y\n3,x\n4,y\n5,x\n7,y\n')
    const model = arbalest.mlp({ input: [2], classes: 2 })
    const weights = { a: { shape: [2], data: new Float32Array(2) } }
    await arbalest.writeSafetensors(at('w.safetensors'), Object.entries(weights))
    const { encoding } = await arbalest.datasetFromTable({ file: at('t.csv'), target: 'b' })
    const classNames = ['x', 'y']
    const normalisation = { mean: [0], std: [1] }
    const saved = { model, weights, statistics: {}, normalisation, classNames }
    const reading = { names: {}, reinitialise: [], strict: false, seed: 0 }
    const sink = { header() {}, block() {} }
    const fetching = {
      directory: at('none'),
      mirror: 'http://127.0.0.1:1',
      signal: AbortSignal.abort(),
      stall: 1,
      pause: 1,
      onProgress() {}
    }
    const layer =
      (name: string): Call =>
      (value, options) => {
        const made = (arbalest as unknown as Readonly<Record<string, Call>>)[name]!(value, options)
        return arbalest.parameterCount(arbalest.defineModel({ name: 'm', input: [4, 8, 8], layers: [made as never] }))
      }
    const right: Readonly<Record<string, readonly unknown[]>> = {
      openData: [at('t.csv'), { table: { target: 'b' }, directory: '.', images: {}, context: 5 }],
      openDataset: ['digits', { samples: 20, seed: 1 }],
      openDataForModel: [at('t.csv'), { name: 'm', input: [1], encoding, classNames }, { directory: '.', images: {}, delimiter: ',' }],
      datasetByEncoding: [at('t.csv'), encoding, classNames, { delimiter: ',' }],
      readModelInputs: [at('t.csv'), encoding, sink, { delimiter: ',' }],
      readTable: [at('t.csv'), sink, { delimiter: ',' }],
      datasetFromArrays: [{ samples: new Float32Array(8), sample: [2], labels: [0, 1, 0, 1], classes: 2, mean: [0], std: [1] }],
      datasetFromText: [{ text: 'hello world '.repeat(100), context: 8 }],
      // Nothing has this name, and nothing is fetched.
      getData: ['nothing', fetching],
      checkData: [['mnist'], { directory: folder.path }],
      importWeights: [at('w.safetensors'), model, reading],
      readModel: [at('w.safetensors'), { ...reading, model, normalisation, classNames }],
      writeSafetensors: [at('w2.safetensors'), Object.entries(weights), { metadata: { a: 'b' }, sync: false }],
      saveModel: [at('m.safetensors'), saved, { format: 'safetensors' }],
      checkSavePath: [at('m.onnx'), model],
      exportOnnx: [model, weights, { normalisation, classNames, encoding }],
      modelFile: [at('w.safetensors'), { best: false }],
      loadModel: [at('w.safetensors'), { ...reading, model, threads: 1, precision: 'f32', backend: 'cpu' }],
      modelNamed: ['gpt', { input: [8], classes: 10 }, { layers: 1 }],
      vit: [{ input: [3, 32, 32], classes: 10 }, { patch: 4, layers: 1, heads: 1, width: 8 }, 'vit-tiny'],
      parameterCount: [model],
      explain: [{ model: 'mlp', input: [1, 28, 28], classes: 10, batch: 4, flopsPerSecond: 1e9, bytesPerSecond: 1e9 }],
      cosine: [0.1, { end: 0 }]
    }
    const calls = Object.entries(right).flatMap(([name, args]) => {
      const call = (arbalest as unknown as Readonly<Record<string, Call>>)[name]!
      return [...withOneWrong(args)].map((some) => [name, call, some] as const)
    })
    const ofLayers = ['linear', 'conv2d', 'maxPool2d', 'dropout', 'selfAttention'].flatMap((name) =>
      [...withOneWrong([3, { name: 'one' }])].map((args) => [name, layer(name), args] as const)
    )
    expect(await bareErrors([...calls, ...ofLayers])).to.deep.equal([])
  })
})
