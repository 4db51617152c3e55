import type { Handle } from '../../../src/engine/contract.js'
import { engine } from '../../../src/engine/native.js'
import type { Choice } from '../support/choice.js'
import { harmed, junk } from '../support/junk.js'
import { bases, type Base } from './bases.js'

/** Waits and threads are not what is tested here. */
const MOST_MILLISECONDS = 2
const MOST_THREADS = 2
/** After so many inputs everything is released, and begins anew. */
const LIFE = 400

type Kind = 'data' | 'stream' | 'program' | 'group' | 'replica' | 'snapshot'
type Handles = Readonly<Record<Kind, Handle[]>>

/** The calls that make a handle, and its kind. */
const MADE: Readonly<Record<string, Kind>> = {
  createDataset: 'data',
  createStream: 'stream',
  createProgram: 'program',
  createGroup: 'group',
  createReplica: 'replica',
  captureGroup: 'snapshot',
  captureReplica: 'snapshot'
}

/** Every call of the addon, in any order, with arguments that are right, harmed or junk. */
export function callsTarget(): (choice: Choice) => void {
  const [base] = bases().filter(({ program }) => program.name.includes('vectors'))
  const specs = specsOf(base!)
  const handles: Handles = { data: [], stream: [], program: [], group: [], replica: [], snapshot: [] }
  const kinds = Object.keys(handles) as Kind[]
  let age = 0

  return (choice) => {
    if (age++ % LIFE === 0) kinds.forEach((kind) => handles[kind].splice(0).forEach((handle) => engine.release(handle)))
    const valid = validArguments(choice, handles, specs)
    const empty = kinds.find((kind) => handles[kind].length === 0)
    const names = empty && choice.happens(0.5) ? Object.keys(MADE).filter((name) => MADE[name] === empty) : Object.keys(valid)
    const name = choice.among(names)
    let values = valid[name]!()
    if (choice.happens(0.4)) values = withoutFunctions(values, (plain) => harmed(plain, choice))
    if (choice.happens(0.1)) values[choice.below(values.length + 1)] = junk(choice)
    const result = call(name, values.map(bounded))
    const kind = MADE[name]
    if (kind && typeof result === 'number') {
      handles[kind].push(result)
      if (handles[kind].length > 6) engine.release(handles[kind].shift()!)
    }
  }
}

type Specs = ReturnType<typeof specsOf>

/** What the calls that make something are given. */
function specsOf({ program, data }: Base) {
  const initial = new Float32Array(program.parameters.elements).fill(0.01)
  const layout = program.parameters
  const rule = { kind: 'synchronous', central: { kind: 'sma', alpha: null, momentum: 0.5 }, adopts: false, period: 2, from: 0 }
  const lawa = { kind: 'lawa', from: 0, every: 4, window: 2 }
  const group = { backend: program.backend, layout, initial, batch: 2, rule, average: lawa }
  const devices = { devices: 2, levels: [{ kind: 'devices' }, { kind: 'loopback', latency: 0 }] }
  const push = { kind: 'asynchronous', exchange: { kind: 'push', push: 1, fetch: 1 }, slack: 1, period: 2 }
  const stream = { count: 6, sample: [12], classes: 5, batch: 2, slots: 3, range: [0, 6] }
  const request = {
    kind: 'relu',
    attributes: {},
    inputs: [{ shape: [2, 4], type: 'f32', layout: null }],
    outputs: [{ shape: [2, 4], type: 'f32', layout: null }],
    precision: 'f32'
  }
  const limits = { steps: 2, milliseconds: 1, position: 0, learningRate: 0.1 }
  return { program, data, initial, layout, group, devices, push, stream, request, limits }
}

/** Arguments that are right for each call, made when they are asked for. */
function validArguments(choice: Choice, handles: Handles, specs: Specs): Record<string, () => unknown[]> {
  const { program, data, initial, layout, group, devices, push, stream, request, limits } = specs
  const a = (kind: Kind): unknown => (choice.happens(0.05) ? choice.among(Object.values(handles).flat()) : choice.among(handles[kind]))
  const learner = (): number => choice.below(3)
  const numbers = (): Float32Array => new Float32Array(layout.elements).fill(choice.share())
  const counts = { round: choice.below(9), position: 4, averaged: 0, 'average.taken': 0, 'own.1': 2, steps: 1 }
  const vectors = { central: initial, 'central.before': initial, weights: initial, velocity: initial, 'accumulated.1': initial }
  const segment = (): string => choice.among(['load', 'forward', 'backward', 'exchange', 'update'])
  const replica = (): unknown => ({
    backend: program.backend,
    layout,
    threads: 1,
    seed: 3,
    ...(choice.happens(0.7) && { group: a('group'), learner: learner() })
  })
  return {
    describe: () => [],
    lower: () => [program.backend, request],
    bytes: () => [program.backend, [2, 3, 4, 4], 'f32', choice.among(['plain', 'nhwc', 'nChw8c'])],
    createDataset: () => [data],
    createStream: () => [choice.among([stream, { ...stream, label: [2] }, { ...stream, target: [2] }])],
    nextBatch: () => [a('stream'), choice.among(['waited', 'ahead'])],
    feedBatch: () => [a('stream'), choice.below(4), new Uint8Array(24), choice.among([Int32Array.of(1, 2), Float32Array.of(1, 2, 3, 4)])],
    watchStream: () => [a('stream'), () => undefined],
    streamStatus: () => [a('stream')],
    createProgram: () => [program],
    createGroup: () => [choice.among([group, { ...group, rule: push }, { ...group, ...devices }])],
    createReplica: () => [replica()],
    release: () => [choice.happens(0.2) ? a(choice.among(Object.keys(handles) as Kind[])) : 0],
    bind: () => [a('replica'), a('program'), a(choice.among(['data', 'stream']))],
    run: () => [a('replica'), choice.below(3), limits],
    runSegment: () => [a('replica'), choice.below(3), segment(), choice.happens(0.5) ? { milliseconds: 1, samples: [0, 5] } : limits],
    cancel: () => [a('replica')],
    readValue: () => [a('replica'), choice.below(3), choice.among(['loss', 'x', 'target', 'logits'])],
    writeValue: () => [
      a('replica'),
      choice.below(3),
      choice.among(['loss', 'target']),
      choice.happens(0.5) ? Int32Array.of(-1, 2 ** 30) : Float32Array.of(1)
    ],
    readVector: () => [a('replica'), choice.among(['weights', 'gradients', 'velocity'])],
    writeVector: () => [a('replica'), choice.among(['weights', 'gradients', 'velocity']), numbers()],
    adopt: () => [a('replica'), a('group')],
    profile: () => [a('replica'), choice.below(3)],
    join: () => [a('group'), learner(), choice.happens(0.3), choice.below(3)],
    evict: () => [a('group'), learner()],
    depart: () => [
      a('group'),
      learner(),
      {
        round: choice.below(4),
        iteration: choice.below(9),
        iterations: choice.below(3),
        until: choice.below(6),
        brought: [choice.below(3)]
      }
    ],
    setLearningRates: () => [a('group'), choice.below(10), Float32Array.of(0.1, 0.2)],
    setRestarts: () => [a('group'), [choice.below(10)]],
    setPause: () => [a('group'), choice.happens(0.5) ? Infinity : choice.below(10)],
    setEnd: () => [a('group'), choice.happens(0.5) ? Infinity : choice.below(40)],
    stop: () => [a('group')],
    groupStatus: () => [a('group')],
    losses: () => [a('group'), choice.below(10)],
    readCentral: () => [a('group')],
    writeCentral: () => [a('group'), numbers()],
    captureGroup: () => [a('group')],
    captureReplica: () => [a('replica')],
    restoreGroup: () => [a('group'), { vectors, counts }],
    restoreReplica: () => [a('replica'), { vectors, counts }],
    snapshotParts: () => [a('snapshot')],
    readSnapshot: () => [a('snapshot'), choice.among(['weights', 'central'])]
  }
}

function call(name: string, values: unknown[]): unknown {
  return (engine as unknown as Record<string, (...values: unknown[]) => unknown>)[name]!(...values)
}

function withoutFunctions(values: unknown[], change: (plain: unknown[]) => unknown[]): unknown[] {
  return values.some((value) => typeof value === 'function') ? values : change(values)
}

/** What would be right and take minutes. */
function bounded(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const copy = { ...value } as { milliseconds?: unknown; threads?: unknown }
  if (ArrayBuffer.isView(value)) return value
  if (typeof copy.milliseconds === 'number' && copy.milliseconds > MOST_MILLISECONDS) copy.milliseconds = MOST_MILLISECONDS
  if (typeof copy.threads === 'number' && copy.threads > MOST_THREADS && copy.threads <= 1024) copy.threads = MOST_THREADS
  return copy
}
