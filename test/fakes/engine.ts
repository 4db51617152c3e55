import type { OfferedTensor, Program } from '../../src/compiler/program.js'
import type { Engine, Handle, MemoryCount, MemorySpec, ReplicaSpec, RunLimits, RunReport } from '../../src/engine/contract.js'
import { ArbalestError } from '../../src/errors.js'
import { FakeGroup } from './group.js'
import { memory } from './shared-memory.js'

/**
 * An engine without mathematics, in memory that all threads of the process share: every replica's loss is half the mean square of
 * (weights - 1), whatever the samples are. Its groups keep the protocol, so that actors and jobs can be tested without native code.
 */
export const engine: Engine = {
  describe: () => ({
    processor: 'fake',
    features: [],
    cores: 2,
    freeMemory: 2 ** 32,
    backends: [
      { name: 'cpu', available: true, detail: 'fake', precisions: ['f32'] },
      { name: 'reference', available: true, detail: 'fake', precisions: ['f32'] }
    ]
  }),
  capabilities: (backend) => {
    const onCores = backend === 'cpu' || backend === 'reference'
    return {
      usesCores: onCores,
      memory: onCores ? 'machine' : 'device',
      streams: !onCores,
      recording: !onCores,
      asynchronousRules: onCores,
      reordersTogether: false,
      layoutsOfAnyType: false
    }
  },
  lower: (_backend, { inputs, outputs }) => ({
    inputs: inputs.map(plain),
    outputs: outputs.map(plain),
    scratchBytes: 0,
    inPlace: [],
    implementation: 'fake'
  }),
  bytes: (_backend, shape, type) => shape.reduce((sum, extent) => sum * extent, 1) * SIZES[type as keyof typeof SIZES],

  createDataset: () => hold(memory.locked(() => memory.allocate(1))),
  createStream: () => hold(memory.locked(() => memory.allocate(1))),
  nextBatch: () => null,
  feedBatch: () => unsupported('feedBatch'),
  watchStream: () => undefined,
  streamStatus: () => ({ filling: 0, ready: 0, taken: 0, waiting: 0, batches: 0, waitSeconds: 0 }),
  openHosts: () => unsupported('openHosts'),
  hostsPlace: () => unsupported('hostsPlace'),
  sendToHost: () => unsupported('sendToHost'),
  takeFromHost: () => unsupported('takeFromHost'),
  watchHosts: () => unsupported('watchHosts'),
  endHosts: () => unsupported('endHosts'),
  hostsEnded: () => unsupported('hostsEnded'),
  lostHosts: () => unsupported('lostHosts'),
  refusedMessages: () => null,
  measureLinks: () => unsupported('measureLinks'),
  linkFigures: () => unsupported('linkFigures'),
  abortHosts: () => unsupported('abortHosts'),
  createRatedLink: () => unsupported('createRatedLink'),
  createLease: () => unsupported('createLease'),
  setLease: () => unsupported('setLease'),
  leaseFigures: () => unsupported('leaseFigures'),
  leaseSpans: () => unsupported('leaseSpans'),
  leaseHolder: () => unsupported('leaseHolder'),
  createProgram(program) {
    const handle = hold(memory.locked(() => newProgram(program)))
    programs.set(handle, program)
    return handle
  },
  createGroup: (spec) => hold(memory.locked(() => FakeGroup.create(spec))),
  createReplica: (spec) => hold(memory.locked(() => newReplica(spec))),
  createMovedVectors: () => hold(memory.locked(() => memory.allocate(1))),
  createArenas: () => hold(memory.locked(() => memory.allocate(1))),
  release(handle) {
    held.delete(handle)
    programs.delete(handle)
  },

  bind(replica, program) {
    const slots = slotsOf(replica)
    slots.programs.push(program)
    return slots.programs.length - 1
  },
  run(replica, slot, limits) {
    const program = slotsOf(replica).programs[slot]!
    return memory.locked(() => memory.numbers[program + PROGRAM.mode]!) === MODES.indexOf('train')
      ? runTraining(replica, limits)
      : memory.locked(() => runAlone(replica, program, limits))
  },
  runSegment: () => unsupported('runSegment'),
  cancel: () => unsupported('cancel'),
  readValue: (replica, slot, name) => predict(replica, slot, name),
  writeValue: (replica, _slot, name, data) => void slotsOf(replica).values.set(name, data as Float32Array),
  readVector: (replica) => memory.locked(() => Float32Array.from(weightsOf(replica))),
  writeVector: (replica, _which, data) => memory.locked(() => weightsOf(replica).set(data)),
  adopt: (replica, group) =>
    memory.locked(() => {
      weightsOf(replica).set(new FakeGroup(group).central)
      return new FakeGroup(group).status().round
    }),
  profile: () => [],

  join: (group, learner) => memory.locked(() => new FakeGroup(group).join(learner)),
  evict: (group, learner) => {
    memory.locked(() => new FakeGroup(group).evict(learner))
    return null
  },
  depart: () => unsupported('depart'),
  setLearningRates: (group, from, rates) => memory.locked(() => new FakeGroup(group).setLearningRates(from, rates)),
  setRestarts: (group, rounds) => memory.locked(() => new FakeGroup(group).setRestarts(rounds)),
  setPause: (group, round) => memory.locked(() => new FakeGroup(group).setPause(round)),
  extendPause: (group, round) => memory.locked(() => new FakeGroup(group).extendPause(round)),
  setEnd: (group, iterations) => memory.locked(() => new FakeGroup(group).setEnd(iterations)),
  setRule: (group, change) => memory.locked(() => new FakeGroup(group).setRule(change)),
  stop: (group) => memory.locked(() => new FakeGroup(group).stop()),
  groupStatus: (group) => memory.locked(() => new FakeGroup(group).status()),
  iterationOf: (group, learner) => memory.locked(() => new FakeGroup(group).iterationOf(learner)),
  losses: (group, from) => memory.locked(() => new FakeGroup(group).losses(from)),
  readCentral: (group) => memory.locked(() => Float32Array.from(new FakeGroup(group).central)),
  isFinite: (group) => memory.locked(() => new FakeGroup(group).central.every(Number.isFinite)),
  averagingSpans: () => new Float64Array(),
  roundFigures: (group, after) => memory.locked(() => new FakeGroup(group).roundFigures(after)),
  sampledFigures: (group, after) => memory.locked(() => new FakeGroup(group).roundFigures(after)),
  writeCentral: (group, weights) => memory.locked(() => new FakeGroup(group).central.set(weights)),

  captureGroup: () => unsupported('captureGroup'),
  captureReplica: () => unsupported('captureReplica'),
  restoreGroup: () => unsupported('restoreGroup'),
  restoreReplica: () => unsupported('restoreReplica'),
  snapshotParts: () => unsupported('snapshotParts'),
  readSnapshot: () => unsupported('readSnapshot'),
  writeSnapshot: () => unsupported('writeSnapshot'),

  keepToCores: () => undefined,
  trim: () => undefined,
  countMemory,
  watchMemory: () => hold(memory.locked(() => memory.allocate(1))),
  peakMemory: () => 0,
  measureTransfers: () => ({ storeBytesPerSecond: 1e9, fetchBytesPerSecond: 1e9 }),
  freeMemory: () => undefined,
  reserve: () => undefined,
  levelBuckets: ({ bytes }) => Float64Array.of(0, bytes / Float32Array.BYTES_PER_ELEMENT),
  timeLevel: () => Float64Array.of(1e-3),
  measurePeak: () => 1e9
}

/** The handles that this thread holds: a test asserts that a job releases all of them. */
export const held = new Set<Handle>()

const SIZES = { f32: 4, f64: 8, bf16: 2, i32: 4, u8: 1 }
const MODES = ['train', 'statistics', 'evaluate', 'predict'] as const
const PROGRAM = { mode: 0, batch: 1, outputs: 2, inputs: 3 } as const
const REPLICA = { elements: 0, group: 1, learner: 2, weights: 3 } as const

interface Slots {
  readonly programs: Handle[]
  readonly values: Map<string, Float32Array>
}
const slots = new Map<Handle, Slots>()

function slotsOf(replica: Handle): Slots {
  let found = slots.get(replica)
  if (!found) slots.set(replica, (found = { programs: [], values: new Map() }))
  return found
}

function hold(handle: Handle): Handle {
  held.add(handle)
  return handle
}

function newProgram(program: Program): Handle {
  const at = memory.allocate(4)
  const size = (name: string) => program.values[program.named[name] ?? -1]?.shape.slice(1).reduce((sum, extent) => sum * extent, 1) ?? 0
  memory.numbers.set([MODES.findIndex((mode) => program.name.endsWith(`.${mode}`)), program.batch, size('output'), size('input')], at)
  return at
}

function newReplica({ layout, group, learner, device = 0, arenas }: ReplicaSpec): Handle {
  if (arenas !== undefined) giveArenas(arenas, device)
  const at = memory.allocate(REPLICA.weights + layout.elements)
  memory.numbers.set([layout.elements, group ?? 0, learner ?? -1], at)
  return at
}

/** The arenas belong to the first device whose replica uses them. */
function giveArenas(arenas: Handle, device: number): void {
  memory.numbers[arenas] ||= device + 1
  if (memory.numbers[arenas] !== device + 1) unsupported(`share arenas of device ${memory.numbers[arenas] - 1} with device ${device}`)
}

/** Programs that this thread holds. */
const programs = new Map<Handle, Program>()

/** That of a group with two central models, whose learners have a velocity and a correction. */
function countMemory({ programs: handles, group }: MemorySpec): MemoryCount {
  const all = handles.map((handle) => programs.get(handle)!)
  const { bytes } = all[0]!.parameters
  const largest = (arena: 'statistics' | 'activations') => Math.max(...all.map(({ arenas }) => arenas[arena]))
  const trained = group ? bytes : 0
  return {
    group: group ? [2 * bytes] : [],
    contribution: trained,
    recording: trained,
    replica: {
      weights: bytes,
      gradients: trained,
      optimiser: trained,
      statistics: largest('statistics'),
      activations: largest('activations')
    },
    snapshot: 2 * trained,
    update: 7 * trained,
    windows: 0,
    learnerWindows: 0,
    copyWindows: 0
  }
}

function weightsOf(replica: Handle): Float64Array {
  const from = replica + REPLICA.weights
  return memory.numbers.subarray(from, from + memory.numbers[replica + REPLICA.elements]!)
}

/** Half the mean square of (weights - 1). */
function lossOf(weights: Float64Array): number {
  return weights.reduce((sum, weight) => sum + (weight - 1) ** 2, 0) / (2 * weights.length)
}

function runTraining(replica: Handle, { steps, milliseconds }: RunLimits): RunReport {
  const until = performance.now() + milliseconds
  const report = { steps: 0, lossSum: 0, correctSum: 0, busySeconds: 0, waitSeconds: 0, dataSeconds: 0 }
  while (report.steps < steps && performance.now() < until) {
    const { done, seen } = memory.locked(() => ({ done: trainOnce(replica), seen: memory.changes() + 1 }))
    if (typeof done === 'number') {
      report.steps += 1
      report.lossSum += done
    } else if (done !== 'waiting') {
      return { outcome: done, ...report }
    } else {
      const left = until - performance.now()
      if (left <= 0) return { outcome: 'waiting', ...report }
      memory.awaitChange(seen, left)
    }
  }
  return { outcome: 'ran', ...report }
}

/** Runs one iteration. Returns its loss, or why it did not run. */
function trainOnce(replica: Handle): number | 'waiting' | 'paused' | 'evicted' | 'cancelled' {
  const group = new FakeGroup(memory.numbers[replica + REPLICA.group]!)
  const learner = memory.numbers[replica + REPLICA.learner]!
  const weights = weightsOf(replica)
  const turn = group.enter(learner)
  if (turn.kind !== 'step') return turn.kind
  if (turn.fresh) weights.set(group.central)
  const loss = lossOf(weights)
  const { central } = group
  const correction = group.correction(learner)
  for (let i = 0; i < weights.length; i++) {
    const w = weights[i]!
    correction[i] = turn.corrects ? turn.alpha * (w - central[i]!) : correction[i]!
    weights[i] = w - turn.rate * (w - 1) - (turn.corrects ? correction[i]! : 0)
  }
  const distance = Math.sqrt(weights.reduce((sum, w, i) => sum + (w - central[i]!) ** 2, 0))
  group.report(learner, turn, loss, distance)
  return loss
}

/** The number of right answers, which grows as the loss falls. */
function runAlone(replica: Handle, program: Handle, { steps }: RunLimits): RunReport {
  const loss = lossOf(weightsOf(replica))
  const right = Math.round(memory.numbers[program + PROGRAM.batch]! / (1 + loss))
  return { outcome: 'ran', steps, lossSum: steps * loss, correctSum: steps * right, busySeconds: 0, waitSeconds: 0, dataSeconds: 0 }
}

/** Output c of a sample is its first number plus c. */
function predict(replica: Handle, slot: number, name: string): Float32Array {
  const { programs: bound, values } = slotsOf(replica)
  const program = bound[slot]!
  const [, batch, outputs, inputs] = memory.locked(() => memory.numbers.slice(program, program + 4))
  if (name !== 'output') return values.get(name) ?? unsupported(`readValue ${name}`)
  const input = values.get('input')!
  return Float32Array.from({ length: batch! * outputs! }, (_, i) => input[Math.floor(i / outputs!) * inputs!]! + (i % outputs!))
}

function plain(tensor: OfferedTensor | null): { type: OfferedTensor['type']; layout: string; bytes: number } | null {
  return tensor && { type: tensor.type, layout: 'plain', bytes: engine.bytes('cpu', tensor.shape, tensor.type, 'plain') }
}

function unsupported(what: string): never {
  throw new ArbalestError('UNSUPPORTED_OPERATOR', `fake engine: it cannot ${what}`)
}
