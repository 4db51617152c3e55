import { expect } from 'chai'
import type { OptimiserAttributes } from '../../../src/compiler/optimiser.js'
import type { Program } from '../../../src/compiler/program.js'
import type { Handle, LevelSpec, SynchronousRule } from '../../../src/engine/contract.js'
import { engine } from '../../../src/engine/native.js'
import { defineModel, linear, relu } from '../../../src/model/layers.js'
import { hostsLevel, type HostsLevelOptions } from '../../../src/run/hosts/hosts-level.js'
import { awaitMeeting } from '../../hosts/support/await-meeting.js'
import { GroupRun, type GroupPlan } from './group-run.js'
import { DEVICES } from './level-cases.js'
import { OPTIMISER } from './rule-pair.js'
import { randomSamples, smallTraining } from './small-training.js'

let links = 0

/** Hosts of this process, joined by threads. */
export function joined(size: number, shrinks = false): Handle[] {
  const name = `groups ${process.pid} ${links++}`
  const hosts = Array.from({ length: size }, (_, rank) => engine.openHosts({ kind: 'threads', name, rank, size, deadline: 60, shrinks }))
  hosts.forEach(awaitMeeting)
  return hosts
}

const WIDE = defineModel({ name: 'wide', input: [60], layers: [linear(700), relu(), linear(600), relu(), linear(5)] })
/** What the hosts train; `wide`: several buckets of several chunks. */
export const training = (wide = false, optimiser: OptimiserAttributes = OPTIMISER, backend: 'cpu' | 'cuda-host' = 'cpu') => ({
  ...smallTraining(backend, optimiser, { batch: 4, ...(wide && { model: WIDE }) }),
  dataset: randomSamples(300, wide ? 60 : 12)
})

/** How hosts sum, beside the rule. */
export type Summing = Pick<HostsLevelOptions, 'ruleAt' | 'exchange' | 'racks'>

/** `hosts` are their capacities, or their number: then all have equal parts. */
export function levelOf(
  handle: Handle,
  hosts: number | readonly number[],
  { parameters: layout }: Program,
  how: GroupPlan['rule'],
  summing: Summing = {}
): LevelSpec {
  const capacities = typeof hosts === 'number' ? Array.from({ length: hosts }, () => 1) : hosts
  return hostsLevel(engine, handle, capacities, { layout, rule: how as SynchronousRule, ...summing })
}

/** One group a host; the learners of all are spread over the hosts in turns. */
export class HostsRun {
  readonly links: readonly Handle[]
  readonly runs: readonly GroupRun[]
  #iterations = 0

  constructor(
    { program, initial, dataset }: ReturnType<typeof training>,
    how: GroupPlan['rule'],
    hosts: number,
    devices = 1,
    {
      shrinks = false,
      average,
      capacities,
      ...summing
    }: { shrinks?: boolean; capacities?: readonly number[] } & Summing & Pick<GroupPlan, 'average'> = {}
  ) {
    this.links = joined(hosts, shrinks)
    this.runs = this.links.map((handle) => {
      const levels = [...(devices > 1 ? [DEVICES] : []), levelOf(handle, capacities ?? hosts, program, how, summing)]
      return new GroupRun(program, dataset, { initial, rule: how, devices, levels, ...(average && { average }) })
    })
  }

  add(learners: number): this {
    for (let j = 0; j < learners; j++) this.runs[j % this.runs.length]!.add(Math.floor(j / this.runs.length))
    return this
  }

  lift(): this {
    for (const { group } of this.runs) engine.setPause(group, Infinity)
    return this
  }

  /** `before`: iterations before the first one, where the groups were restored. */
  iterate(iterations: number, period: number, before = 0): void {
    if (this.#iterations === 0) this.#iterations = before
    for (let t = 0; t < iterations; t++) {
      for (const step of ['compute', 'finish'] as const)
        for (const run of this.runs) for (const learner of run.replicas.keys()) run[step](learner)
      if (++this.#iterations % period === 0) for (const run of this.runs) run.reached(this.#iterations / period)
    }
  }

  centrals(): Buffer[] {
    return this.runs.map((run) => Buffer.from(run.central().buffer))
  }

  /** Steps of all learners of these hosts in turns until none of them takes one more. */
  runToRest(runs = this.runs): Set<string> {
    const ends = new Map<string, string>()
    const learners = runs.flatMap((run, host) => [...run.replicas].map(([learner, at]) => ({ name: `${host}.${learner}`, ...at })))
    const deadline = performance.now() + 20_000
    while (ends.size < learners.length && performance.now() < deadline)
      for (const { name, replica, slot } of learners) {
        const { outcome } = engine.run(replica, slot, { steps: 1, milliseconds: 1 })
        if (outcome === 'paused' || outcome === 'cancelled') ends.set(name, outcome)
      }
    expect(ends.size, 'learners that rest').to.equal(learners.length)
    return new Set(ends.values())
  }

  release(): void {
    for (const { group } of this.runs) engine.stop(group)
    for (const run of this.runs) run.release()
    for (const link of this.links) engine.release(link)
  }
}
