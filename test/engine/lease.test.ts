import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { compile } from '../../src/compiler/compile.js'
import { Random } from '../../src/data/random.js'
import type { Handle, LeaseFigures, LevelSpec, RunOutcome, SynchronousRule } from '../../src/engine/contract.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import type { NamedRule } from '../../src/rules/rules.js'
import { hostsLevel } from '../../src/run/hosts/hosts-level.js'
import { awaitMeeting } from '../hosts/support/await-meeting.js'
import { refused } from '../support/codes.js'
import { testedBackends } from './support/backends.js'
import { GroupRun } from './support/group-run.js'
import { OPTIMISER, rule } from './support/rule-pair.js'
import { randomSamples, SMALL_MODEL, smallTraining } from './support/small-training.js'

/** A call that does not wait. */
const NOW = { milliseconds: 0 }
const ROUNDS = 6
const periodOf = (named: NamedRule): number => ('period' in named && named.period) || 1
const RULES: readonly NamedRule[] = [{ name: 'ssgd' }, { name: 'sma' }, { name: 'local-sgd', period: 3 }]

function turnsOf(lease: Handle): { readonly job: number; readonly start: number; readonly end: number }[] {
  const turns = [...engine.leaseFigures(lease).keys()].flatMap((job) => {
    const numbers = engine.leaseSpans(lease, job)
    return Array.from({ length: numbers.length / 2 }, (_, i) => ({ job, start: numbers[2 * i]!, end: numbers[2 * i + 1]! }))
  })
  return turns.toSorted((a, b) => a.start - b.start)
}

/** Steps of all learners, one call each in a random order, until every group has ended. */
function train(runs: readonly GroupRun[], random: Random): void {
  const learners = runs.flatMap(({ replicas }) => [...replicas.values()])
  const deadline = performance.now() + 20_000
  while (runs.some(({ group }) => engine.groupStatus(group).round < ROUNDS)) {
    expect(performance.now(), `no progress: ${JSON.stringify(runs.map(({ group }) => engine.groupStatus(group)))}`).below(deadline)
    const { replica, slot } = learners[random.below(learners.length)]!
    engine.run(replica, slot, { steps: 1, milliseconds: random.below(2) })
  }
}

for (const { name: backend } of testedBackends())
  describe(`the lease of jobs on ${backend}`, () => {
    const { program, initial } = smallTraining(backend, OPTIMISER)
    const load = { padding: 0, flip: false, mean: [], std: [], shuffled: false }
    const forward = compile(SMALL_MODEL, loweringBackend(engine, backend), {
      batch: 4,
      mode: 'evaluate',
      precision: 'f32',
      load,
      parameters: program.parameters
    })
    const dataset = randomSamples(300)
    const job = (
      number: number,
      lease?: Handle,
      named: NamedRule = { name: 'ssgd' },
      learners = 2,
      levels?: readonly LevelSpec[]
    ): GroupRun => {
      const plan = { initial, rule: rule(named, Math.max(1, learners)), ...(levels && { levels }) }
      const run = new GroupRun(program, dataset, plan, { seed: 1 + number, ...(lease !== undefined && { lease: { lease, job: number } }) })
      for (let learner = 0; learner < learners; learner++) run.add(learner)
      return run
    }
    const leaseOf = (shares: readonly number[], hosts?: Handle): Handle => {
      const lease = engine.createLease({ shares, ...(hosts !== undefined && { hosts }) })
      turnsOf(lease)
      return lease
    }
    /** A step up to the exchange, or the outcome that is in its way. */
    const compute = (run: GroupRun, learner: number): RunOutcome => {
      for (const segment of ['load', 'forward', 'backward'] as const) {
        const outcome = run.segment(learner, segment, NOW)
        if (outcome !== 'ran') return outcome
      }
      return 'ran'
    }

    for (const named of RULES)
      it(`gives every job under ${named.name} the weights that it has alone, bit for bit, however jobs take turns`, () => {
        const alone = [0, 1, 2].map((number) => {
          const run = job(number, undefined, named)
          engine.setEnd(run.group, ROUNDS * periodOf(named))
          train([run], new Random(number))
          return run
        })
        const ways = [
          { mode: 'crossed' },
          { mode: 'shared' },
          { mode: 'crossed', order: [0, 1, 1, 2] },
          { mode: 'shared', counts: [1, 2, 1] }
        ] as const
        for (const [seed, turns] of ways.entries()) {
          const lease = leaseOf([1, 2, 1])
          engine.setLease(lease, turns)
          const together = [0, 1, 2].map((number) => job(number, lease, named))
          for (const { group } of together) engine.setEnd(group, ROUNDS * periodOf(named))
          train(together, new Random(seed))
          for (const [i, run] of together.entries()) {
            run.reached(ROUNDS)
            expect(run.central(), `${JSON.stringify(turns)}, job ${i}`).to.deep.equal(alone[i]!.central())
            run.release()
          }
          engine.release(lease)
        }
        for (const run of alone) run.release()
      })

    it('is one job at a time, until each of its learners has come to its exchange', () => {
      const lease = leaseOf([1, 1])
      const [one, other] = [job(0, lease), job(1, lease)] as const
      expect(compute(one, 0)).to.equal('ran')
      expect([compute(other, 0), engine.leaseHolder(lease)]).to.deep.equal(['waiting', 0])
      expect(compute(one, 1)).to.equal('ran')
      // The first learner goes on to the end of its step, but the second one has not come to its exchange.
      expect(one.segment(0, 'exchange', NOW)).to.equal('ran')
      expect(compute(other, 0)).to.equal('waiting')
      expect(one.segment(1, 'exchange', NOW)).to.equal('ran')
      expect(compute(other, 0)).to.equal('ran')
      expect([compute(one, 0), engine.leaseHolder(lease)]).to.deep.equal(['waiting', 1])
      expect(turnsOf(lease).map((turn) => turn.job)).to.deep.equal([0])
      for (const run of [one, other]) run.release()
    })

    it('is kept for all iterations of a round', () => {
      const lease = leaseOf([1, 1])
      const [one, other] = [job(0, lease, { name: 'local-sgd', period: 3 }, 1), job(1, lease, { name: 'ssgd' }, 1)] as const
      for (let iteration = 0; iteration < 2; iteration++) {
        one.compute(0)
        one.finish(0)
        expect(compute(other, 0), `iteration ${iteration}`).to.equal('waiting')
      }
      one.compute(0)
      expect(compute(other, 0)).to.equal('waiting')
      one.finish(0)
      expect(compute(other, 0)).to.equal('ran')
      for (const run of [one, other]) run.release()
    })

    it('passes over learners that pause, are evicted, die or leave, within 100 ms', async () => {
      const ends: Record<string, (run: GroupRun) => void> = {
        pause: ({ group }) => engine.setPause(group, 0),
        'are evicted': ({ group }) => engine.evict(group, 1),
        stop: ({ group }) => engine.stop(group),
        // As a worker that ends without a word: no call of it follows, or its environment releases what it has.
        'are silent': () => {},
        die: ({ replicas }) => engine.release(replicas.get(1)!.replica)
      }
      for (const [what, end] of Object.entries(ends)) {
        const lease = leaseOf([1, 1])
        const [one, other] = [job(0, lease), job(1, lease, { name: 'ssgd' }, 1)] as const
        for (const learner of [0, 1]) expect(one.segment(learner, 'load', NOW)).to.equal('ran')
        expect(compute(one, 0)).to.equal('ran')
        expect(one.segment(0, 'exchange', NOW)).to.equal('ran')
        expect(compute(other, 0), what).to.equal('waiting')
        const start = performance.now()
        end(one)
        await sleep(1)
        expect(other.segment(0, 'load', { milliseconds: 5000 }), what).to.equal('ran')
        expect(performance.now() - start, what).below(100)
        for (const run of [one, other]) {
          engine.stop(run.group)
          if (what === 'die') run.replicas.delete(1)
          run.release()
        }
      }
    })

    for (const mode of ['shared', 'crossed'] as const)
      it(`lets a job wait that is ahead of another one, ${mode}, and no longer than that one is there`, async () => {
        const lease = leaseOf([1, 1])
        engine.setLease(lease, { mode, counts: [1, 2] })
        const [one, other] = [job(0, lease, { name: 'ssgd' }, 1), job(1, lease, { name: 'ssgd' }, 1)] as const
        const step = (run: GroupRun): RunOutcome => {
          const outcome = compute(run, 0)
          if (outcome === 'ran') run.finish(0)
          return outcome
        }
        const steps = (run: GroupRun): number => {
          let count = 0
          while (count < 100 && step(run) === 'ran') count++
          return count
        }
        // A job that comes later begins where the others are.
        expect([step(one), step(other)]).to.deep.equal(['ran', 'ran'])
        // 1 against 3: ahead by more than two steps of the other one at 8.
        expect(steps(one)).to.equal(7)
        expect(step(other)).to.equal('ran')
        expect(steps(one)).to.equal(2)
        // 5 against 10.
        expect(steps(other)).to.equal(5)
        const start = performance.now()
        expect(other.segment(0, 'load', { milliseconds: 5000 })).to.equal('ran')
        expect(performance.now() - start).below(100)
        for (const run of [one, other]) run.release()
      })

    it('gives an evaluator turns of its own, which make no round', () => {
      const lease = leaseOf([1, 1])
      const one = job(0, lease, { name: 'ssgd' }, 1)
      const replica = engine.createReplica({ backend, layout: program.parameters, threads: 1, seed: 1, lease, job: 1 })
      const slot = engine.bind(replica, engine.createProgram(forward), dataset)
      const measure = (milliseconds = 5) => engine.run(replica, slot, { steps: 2, milliseconds, position: 0 })
      expect(compute(one, 0)).to.equal('ran')
      expect(measure()).to.include({ outcome: 'waiting', steps: 0 })
      one.finish(0)
      // A call ends after a step if its time is up, which a busy machine may take from it.
      expect(measure(5000)).to.include({ outcome: 'ran', steps: 2 })
      // Between two calls it holds up none.
      expect(compute(one, 0)).to.equal('ran')
      expect(measure()).to.include({ outcome: 'waiting' })
      engine.setLease(lease, { mode: 'shared' })
      expect(measure()).to.include({ outcome: 'ran' })
      expect(turnsOf(lease).map((turn) => turn.job)).to.deep.equal([0, 1, 0])
      expect(engine.leaseFigures(lease)[1]).to.include({ turns: 1, rounds: 0, last: 0 })
      engine.release(replica)
      one.release()
    })

    it('loads the samples of a stream that a learner has chosen, though it has waited for its turn behind them', () => {
      const lease = leaseOf([1, 1])
      const inputs = SMALL_MODEL.input[0]!
      const stream = engine.createStream({ count: 100, sample: [inputs], classes: 5, batch: 4, slots: 2 })
      const one = job(0, lease, { name: 'ssgd' }, 1)
      const replica = engine.createReplica({ backend, layout: program.parameters, threads: 1, seed: 1, lease, job: 1 })
      const slot = engine.bind(replica, engine.createProgram(forward), stream)
      /** Samples whose bytes are their numbers, for what is waited for. */
      const feed = (): void => {
        const { turn, position, samples } = engine.nextBatch(stream, 'waited')!
        const numbers = samples ?? [0, 1, 2, 3].map((i) => position + i)
        engine.feedBatch(
          stream,
          turn,
          Uint8Array.from(numbers.flatMap((each) => Array.from({ length: inputs }, () => each))),
          new Int32Array(4)
        )
      }
      const loaded = (): number[] =>
        [...(engine.readValue(replica, slot, 'input') as Float32Array)]
          .filter((_, i) => i % inputs === 0)
          .map((byte) => Math.round(byte * 255))
      const take = (samples?: readonly number[]): RunOutcome =>
        engine.runSegment(replica, slot, 'load', { ...NOW, ...(samples && { samples }) })
      for (const samples of [[7, 99, 99, 50], undefined]) {
        one.compute(0)
        expect(take(samples), 'without samples').to.equal('waiting')
        feed()
        expect(take(samples), 'without a turn').to.equal('waiting')
        one.finish(0)
        expect(take(samples)).to.equal('ran')
        expect(loaded()).to.deep.equal(samples ?? [0, 1, 2, 3])
      }
      // Others in their place, chosen while the first ones wait for their turn.
      one.compute(0)
      expect(take([7, 7, 7, 7])).to.equal('waiting')
      feed()
      expect(take([7, 7, 7, 7])).to.equal('waiting')
      one.finish(0)
      expect(take([8, 8, 8, 8])).to.equal('waiting')
      feed()
      expect(take([8, 8, 8, 8])).to.equal('ran')
      expect(loaded()).to.deep.equal([8, 8, 8, 8])
      engine.release(replica)
      one.release()
    })

    it('tells the time for which jobs exchange with other hosts', () => {
      const lease = leaseOf([1, 1])
      const link = engine.createRatedLink({ bytesPerSecond: 1e9, latency: 0.02 })
      const run = job(0, lease, { name: 'ssgd' }, 1, [{ kind: 'loopback', link }])
      for (let t = 0; t < 4; t++) {
        run.compute(0)
        run.finish(0)
      }
      // A step is told when its learner comes to its exchange: those of the steps before are over.
      expect(engine.leaseFigures(lease)[0]!.exchanged).within(0.06, 1)
      run.release()
      engine.release(link)
    })

    it('counts turns, steps and times, and says who has the device', () => {
      const lease = leaseOf([1, 1])
      const run = job(0, lease)
      const before = performance.now()
      for (let t = 0; t < 3; t++) {
        for (const learner of [0, 1]) run.compute(learner)
        expect(engine.leaseHolder(lease)).to.equal(0)
        for (const learner of [0, 1]) run.finish(learner)
        expect(engine.leaseHolder(lease)).to.equal(-1)
      }
      const seconds = (performance.now() - before) / 1000
      const [own, others] = engine.leaseFigures(lease) as unknown as readonly [LeaseFigures, LeaseFigures]
      expect(own).to.include({ turns: 3, rounds: 3 })
      expect(own.seconds).within(1e-6, seconds)
      expect(others).to.deep.equal({ turns: 0, seconds: 0, waited: 0, rounds: 0, last: 0, exchanged: 0, overhead: 0, processor: 0 })
      expect(own.exchanged).to.equal(0)
      // None waited: a call takes some microseconds.
      expect(own.overhead).within(1e-9, 6e-3)
      const spans = turnsOf(lease)
      expect(spans.map((turn) => turn.job)).to.deep.equal([0, 0, 0])
      for (const [i, { start, end }] of spans.entries()) expect(start).within(spans[i - 1]?.end ?? 0, end)
      // The last learner gave the device back after the turn's other one.
      expect(own.last).within(spans[2]!.end - 0.01, spans[2]!.end + 0.01)
      run.release()
    })

    it('refuses shares and jobs that there are not', async () => {
      await refused('INVALID_OPTION', () => engine.createLease({ shares: [] }), 'share', 'one for each job')
      await refused('INVALID_OPTION', () => engine.createLease({ shares: [1, 0] }), 'share', 'above 0')
      const lease = leaseOf([1, 1])
      await refused('INVALID_OPTION', () => engine.setLease(lease, { mode: 'alone', job: 2 }), 'job', 'received 2')
      await refused('INVALID_OPTION', () => engine.setLease(lease, { mode: 'crossed', order: [0, 2] }), 'job', 'received 2')
      await refused('INVALID_OPTION', () => engine.setLease(lease, { mode: 'shared', shares: [1] }), 'share', 'received 1')
      await refused('UNKNOWN_NAME', () => engine.setLease(lease, { mode: 'mixed' } as never), 'mode', 'mixed')
      await refused('INVALID_OPTION', () => engine.setLease(lease, { mode: 'shared', counts: [1] }), 'counts', 'received 1')
      await refused('INVALID_OPTION', () => engine.setLease(lease, { mode: 'crossed', counts: [1, 0] }), 'counts', 'above 0')
      await refused('INVALID_OPTION', () => job(2, lease), 'job', 'received 2')
    })

    if (backend === 'cpu') {
      const levelOf = (link: Handle) =>
        hostsLevel(engine, link, [1, 1], { layout: program.parameters, rule: rule({ name: 'ssgd' }, 2) as SynchronousRule })

      it('has the turns of the first host on all hosts, whatever the delays there, and no host waits for another for ever', () => {
        const size = 2
        const linksOf = (what: string) => {
          const name = `lease ${what} ${process.pid}`
          const links = Array.from({ length: size }, (_, rank) => engine.openHosts({ kind: 'threads', name, rank, size, deadline: 60 }))
          links.forEach(awaitMeeting)
          return links
        }
        const [turns, ...others] = ['turns', 'job 0', 'job 1'].map(linksOf) as [Handle[], ...Handle[][]]
        const hosts = turns.map((link, rank) => {
          const lease = leaseOf([1, 2], link)
          const jobs = others.map((links, number) => job(number, lease, { name: 'ssgd' }, 1, [levelOf(links[rank]!)]))
          for (const { group } of jobs) engine.setPause(group, Infinity)
          return { lease, jobs }
        })
        engine.setLease(hosts[0]!.lease, { mode: 'crossed' })
        const random = new Random(7)
        const nap = new Int32Array(new SharedArrayBuffer(4))
        const learners = hosts.flatMap(({ jobs }, host) => jobs.map((run) => ({ host, ...run.replicas.get(0)! })))
        const deadline = performance.now() + 20_000
        const made = () => hosts.flatMap(({ jobs }) => jobs.map(({ group }) => engine.groupStatus(group).iterations))
        while (made().some((iterations) => iterations < 60)) {
          expect(performance.now(), `no progress: ${made().join()}`).below(deadline)
          const { host, replica, slot } = learners[random.below(learners.length)]!
          if (random.below(8) === host) Atomics.wait(nap, 0, 0, random.below(6))
          engine.run(replica, slot, { steps: 1, milliseconds: random.below(2) })
        }
        const [first, second] = hosts.map(({ lease }) => turnsOf(lease).map((turn) => turn.job)) as [number[], number[]]
        const common = Math.min(first.length, second.length)
        expect(common).above(80)
        expect(second.slice(0, common)).to.deep.equal(first.slice(0, common))
        for (const { jobs } of hosts) for (const { group } of jobs) engine.stop(group)
        for (const { jobs } of hosts) for (const run of jobs) run.release()
        for (const { lease } of hosts) engine.release(lease)
        for (const each of [turns, ...others].flat()) engine.release(each)
      })

      it('gives a host turns of which the first one has no need, as where its learner has died', () => {
        const linksOf = (what: string) => {
          const name = `lease ${what} alone ${process.pid}`
          const links = [0, 1].map((rank) => engine.openHosts({ kind: 'threads', name, rank, size: 2, deadline: 60 }))
          links.forEach(awaitMeeting)
          return links
        }
        const [turns, own] = ['turns', 'job'].map(linksOf) as [Handle[], Handle[]]
        const runs = turns.map((link, rank) => job(0, leaseOf([1, 1], link), { name: 'ssgd' }, rank, [levelOf(own[rank]!)]))
        for (const { group } of runs) engine.setPause(group, Infinity)
        const { replica, slot } = runs[1]!.replicas.get(0)!
        const deadline = performance.now() + 20_000
        while (engine.groupStatus(runs[1]!.group).iterations < 3) {
          expect(performance.now(), 'no turn').below(deadline)
          engine.run(replica, slot, { steps: 1, milliseconds: 20 })
        }
        for (const { group } of runs) engine.stop(group)
        for (const run of runs) run.release()
        for (const each of [...turns, ...own]) engine.release(each)
      })

      it('has one order of turns on all hosts, whatever the delays there', () => {
        const order = [0, 1, 1]
        const name = `lease ${process.pid}`
        const links = [0, 1].map((rank) => engine.openHosts({ kind: 'threads', name, rank, size: 2, deadline: 60 }))
        links.forEach(awaitMeeting)
        const hosts = links.map((link) => {
          const lease = leaseOf([1, 1])
          engine.setLease(lease, { mode: 'crossed', order })
          const jobs = [0, 1].map((number) => job(number, lease, { name: 'ssgd' }, 1, [levelOf(link)]))
          for (const { group } of jobs) engine.setPause(group, Infinity)
          return { lease, jobs }
        })
        const random = new Random(5)
        const nap = new Int32Array(new SharedArrayBuffer(4))
        const learners = hosts.flatMap(({ jobs }, host) => jobs.map((run) => ({ host, ...run.replicas.get(0)! })))
        const deadline = performance.now() + 20_000
        while (hosts.some(({ jobs }) => engine.groupStatus(jobs[1]!.group).iterations < 60) && performance.now() < deadline) {
          const { host, replica, slot } = learners[random.below(learners.length)]!
          // One host is now and then much slower than the other one.
          if (random.below(8) === host) Atomics.wait(nap, 0, 0, random.below(6))
          engine.run(replica, slot, { steps: 1, milliseconds: random.below(2) })
        }
        const logs = hosts.map(({ lease }) => turnsOf(lease).map((turn) => turn.job))
        const common = Math.min(...logs.map(({ length }) => length))
        expect(common).above(80)
        const expected = Array.from({ length: common }, (_, i) => order[i % order.length])
        for (const log of logs) expect(log.slice(0, common)).to.deep.equal(expected)
        for (const { jobs } of hosts) for (const { group } of jobs) engine.stop(group)
        for (const { jobs } of hosts) for (const run of jobs) run.release()
        for (const each of links) engine.release(each)
      })
    }
  })
