import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Program, SegmentName } from '../../../src/compiler/program.js'
import type { GroupSpec, Handle, ReplicaSpec, RunOutcome, SegmentLimits, SnapshotContents } from '../../../src/engine/contract.js'
import { engine } from '../../../src/engine/native.js'
import type { SegmentWorker } from './segment-worker.js'

/** What a test says of its group. */
export type GroupPlan = Pick<GroupSpec, 'initial' | 'rule' | 'average' | 'devices' | 'levels'>

/** The turns that a job's learners take, and the job's number there. */
export type LeasePlace = Required<Pick<ReplicaSpec, 'lease' | 'job'>>

/** Longer than anything that a group does by itself takes, also on a machine that is busy with other things. */
const PATIENCE = 20_000

/** A group and its learners driven segment by segment in one thread, so that a test decides who does what in which order. */
export class GroupRun {
  readonly group: Handle
  readonly replicas = new Map<number, { replica: Handle; slot: number }>()
  /** Replicas that read the central model, by device. */
  readonly #readers = new Map<number, Handle>()
  readonly #program: Program
  readonly #dataset: Handle
  readonly #seed: number
  readonly #devices: number
  readonly #lease: LeasePlace | undefined

  constructor(program: Program, dataset: Handle, spec: GroupPlan, options: { seed?: number; rate?: number; lease?: LeasePlace } = {}) {
    this.#program = program
    this.#dataset = dataset
    this.#seed = options.seed ?? 1
    this.#devices = spec.devices ?? 1
    this.#lease = options.lease
    const update = program.segments.update[0]!.attributes
    this.group = engine.createGroup({
      backend: program.backend,
      layout: program.parameters,
      batch: program.batch * Number(update.accumulate ?? 1),
      optimiser: update,
      ...spec
    })
    engine.setLearningRates(this.group, 0, Float32Array.of(options.rate ?? 0.05))
  }

  /** From the central model, or from what a snapshot holds; on the devices in turns. */
  add(learner: number, resumes?: SnapshotContents): this {
    const device = this.replicas.size % this.#devices
    const replica = engine.createReplica({
      backend: this.#program.backend,
      device,
      layout: this.#program.parameters,
      threads: 1,
      seed: this.#seed,
      group: this.group,
      learner,
      ...this.#lease
    })
    const slot = engine.bind(replica, engine.createProgram(this.#program), this.#dataset)
    if (resumes) engine.restoreReplica(replica, resumes)
    engine.join(this.group, learner, resumes !== undefined, device)
    this.replicas.set(learner, { replica, slot })
    return this
  }

  /** Its memory goes; a test that makes many large ones would fill the machine. */
  release(): void {
    for (const { replica } of this.replicas.values()) engine.release(replica)
    for (const reader of this.#readers.values()) engine.release(reader)
    engine.release(this.group)
  }

  /** Everything of an iteration before the learner meets the others. */
  compute(learner: number): void {
    for (const segment of ['load', 'forward', 'backward'] as const) this.#run(learner, segment)
  }

  /** The exchange and the update: the learner arrives where its round ends. */
  finish(learner: number): void {
    for (const segment of ['exchange', 'update'] as const) this.#run(learner, segment)
  }

  /** One segment, or why it did not run. */
  segment(learner: number, segment: SegmentName, limits?: SegmentLimits): RunOutcome {
    const { replica, slot } = this.#of(learner)
    return engine.runSegment(replica, slot, segment, limits)
  }

  /** As `segment`, in a thread of its own: there the learner waits for others while this thread goes on. */
  async segmentInThread(learner: number, segment: SegmentName): Promise<RunOutcome> {
    const workerData: SegmentWorker = { ...this.#of(learner), segment, milliseconds: PATIENCE }
    const [outcome] = (await once(new Worker(new URL('segment-worker.js', import.meta.url), { workerData }), 'message')) as [RunOutcome]
    return outcome
  }

  #run(learner: number, segment: SegmentName): void {
    // Over hosts a learner waits for what they tell each other, in threads of their own.
    const outcome = this.segment(learner, segment, { milliseconds: PATIENCE })
    if (outcome !== 'ran') throw new Error(`learner ${learner}: ${segment} is ${outcome}`)
  }

  /** Until so many rounds are whole: where the group has levels, they do their part in threads of their own. */
  reached(round: number): void {
    const nap = new Int32Array(new SharedArrayBuffer(4))
    const deadline = performance.now() + PATIENCE
    while (engine.groupStatus(this.group).round < round) {
      if (performance.now() > deadline) throw new Error(`round ${round} is not reached: ${JSON.stringify(engine.groupStatus(this.group))}`)
      Atomics.wait(nap, 0, 0, 0.2)
    }
  }

  weights(learner: number): Float32Array | Float64Array {
    return engine.readVector(this.#of(learner).replica, 'weights')
  }

  gradients(learner: number): Float32Array | Float64Array {
    return engine.readVector(this.#of(learner).replica, 'gradients')
  }

  central(): Float32Array | Float64Array {
    return engine.readCentral(this.group)
  }

  /** The central model as a device has it; of a group without an evaluation average. */
  centralOn(device: number): Float32Array | Float64Array {
    const { backend, parameters: layout } = this.#program
    const reader = this.#readers.get(device) ?? engine.createReplica({ backend, device, layout, threads: 1, seed: this.#seed })
    this.#readers.set(device, reader)
    engine.adopt(reader, this.group)
    return engine.readVector(reader, 'weights')
  }

  capture(learner: number): SnapshotContents {
    return contents(engine.captureReplica(this.#of(learner).replica))
  }

  captureGroup(): SnapshotContents {
    return contents(engine.captureGroup(this.group))
  }

  #of(learner: number): { replica: Handle; slot: number } {
    const found = this.replicas.get(learner)
    if (!found) throw new Error(`no learner ${learner}`)
    return found
  }
}

/** All of a snapshot, which is released. */
function contents(snapshot: Handle): SnapshotContents {
  const { vectors, counts } = engine.snapshotParts(snapshot)
  const read = Object.fromEntries(vectors.map((name) => [name, engine.readSnapshot(snapshot, name)]))
  engine.release(snapshot)
  return { vectors: read, counts }
}
