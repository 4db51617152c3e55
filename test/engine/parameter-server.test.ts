import { expect } from 'chai'
import { Random } from '../../src/data/random.js'
import { engine } from '../../src/engine/native.js'
import { parameterServer, type ParameterServerOptions } from '../../src/rules/parameter-server.js'
import { ssgd } from '../../src/rules/ssgd.js'
import { refused } from '../support/codes.js'
import { testedBackends } from './support/backends.js'
import { GroupRun, type GroupPlan } from './support/group-run.js'
import { DEVICES } from './support/level-cases.js'
import { OPTIMISER } from './support/rule-pair.js'
import { largestDifference, randomSamples, smallTraining } from './support/small-training.js'

const LEARNERS = 3
const ITERATIONS = 12
const NOW = { milliseconds: 0 }

type Vector = Float32Array | Float64Array

/** What each learner adopted in each iteration, and the central model before each. */
interface Course {
  readonly adopted: readonly (readonly Vector[])[]
  readonly models: readonly Vector[]
}

for (const { name: backend } of testedBackends())
  describe(`a parameter server on ${backend}`, () => {
    const { program, initial } = smallTraining(backend, OPTIMISER)
    const dataset = randomSamples(300)
    const started = (rule: GroupPlan['rule'], plan: Pick<GroupPlan, 'devices' | 'levels'> = {}): GroupRun => {
      const run = new GroupRun(program, dataset, { initial, rule, ...plan })
      for (let j = 0; j < LEARNERS; j++) run.add(j)
      return run
    }

    /** Learners begin and end iterations in a random order, as far as the group allows it. */
    function course(run: GroupRun, random: Pick<Random, 'below'>): Course {
      engine.setEnd(run.group, ITERATIONS)
      const adopted = Array.from({ length: LEARNERS }, (): Vector[] => [])
      const models: Vector[] = [run.central()]
      const computing = new Set<number>()
      const begun = (j: number) => adopted[j]!.length
      while (models.length <= ITERATIONS) {
        const j = random.below(LEARNERS)
        // With levels a round becomes whole at a moment of its own.
        const { round } = engine.groupStatus(run.group)
        while (models.length <= round) models.push(run.central())
        if (computing.delete(j)) run.finish(j)
        else if (begun(j) < ITERATIONS && run.segment(j, 'load', NOW) === 'ran') {
          adopted[j]!.push(run.weights(j))
          for (const segment of ['forward', 'backward'] as const) run.segment(j, segment)
          computing.add(j)
        }
      }
      run.release()
      return { adopted, models }
    }
    /** All of them in each iteration, in their order. */
    const inStep = (): Pick<Random, 'below'> => {
      let next = 0
      return { below: () => next++ % LEARNERS }
    }

    const servers = {
      'one that has the optimiser': (slack: number, fresh?: 'latest') => parameterServer({ slack, ...(fresh && { fresh }) }),
      'one that takes updates': (slack: number, fresh?: 'latest') => parameterServer({ slack, apply: 'updates', ...(fresh && { fresh }) })
    } as const

    for (const [name, server] of Object.entries(servers)) {
      it(`gives the same bits in any interleaving: ${name}`, () => {
        for (const slack of [0, 1, 3]) {
          const expected = course(started(server(slack)), inStep())
          expect(largestDifference(expected.models.at(-1)!, initial)).above(1e-3)
          for (const seed of [1, 2, 3]) expect(course(started(server(slack)), new Random(seed)), `slack ${slack}`).to.deep.equal(expected)
        }
      })
    }

    it('adopts the model of as many iterations ago as slack allows', () => {
      for (const slack of [0, 1, 3]) {
        const { adopted, models } = course(started(servers['one that has the optimiser'](slack)), new Random(7))
        for (const each of adopted) each.forEach((model, c) => expect(model).to.deep.equal(models[Math.max(0, c - slack)]))
      }
    })

    it('adopts the latest model that is whole, never an older one than slack allows', () => {
      let fresher = 0
      for (const slack of [1, 3]) {
        const { adopted, models } = course(started(servers['one that has the optimiser'](slack, 'latest')), new Random(8))
        for (const each of adopted)
          each.forEach((model, c) => {
            const age = c - models.findLastIndex((one) => largestDifference(one, model) === 0)
            expect(age).within(0, Math.min(slack, c))
            if (age < Math.min(slack, c)) fresher++
          })
      }
      expect(fresher).above(0)
    })

    it('shows a learner its own updates at once, and those of others when slack allows', () => {
      const run = started(servers['one that takes updates'](2))
      const before = run.central()
      const seen: Vector[] = []
      for (let c = 0; c < 3; c++) {
        run.compute(0)
        seen.push(run.weights(0))
        run.finish(0)
      }
      // Others have brought nothing yet.
      expect(run.central()).to.deep.equal(before)
      expect(seen[0]).to.deep.equal(before)
      expect(largestDifference(seen[1]!, seen[0]!)).above(0)
      expect(largestDifference(seen[2]!, seen[1]!)).above(0)
      run.release()
    })

    it('lets a learner be slack iterations ahead of the slowest, and no more', () => {
      for (const slack of [0, 1, 3]) {
        const run = started(parameterServer({ slack }))
        const step = (j: number) =>
          engine.run(run.replicas.get(j)!.replica, run.replicas.get(j)!.slot, { steps: 1, milliseconds: 0 }).outcome
        for (let c = 0; c <= slack; c++) expect(step(0)).to.equal('ran')
        expect(step(0)).to.equal('waiting')
        expect(step(1)).to.equal('ran')
        expect(step(0)).to.equal('waiting')
        // The slowest is gone.
        engine.evict(run.group, 2)
        expect(step(0)).to.equal('ran')
        run.release()
      }
    })

    it('without slack is synchronous SGD, bit for bit', () => {
      expect(course(started(parameterServer({})), new Random(3))).to.deep.equal(course(started(ssgd({})), new Random(4)))
      const apart = (rule: GroupPlan['rule']) => lastOf(course(started(rule, { devices: 2, levels: [DEVICES] }), new Random(5)))
      expect(apart(parameterServer({}))).to.deep.equal(apart(ssgd({})))
    })

    it('gives the same bits over several devices', () => {
      for (const server of Object.values(servers)) {
        const apart = () => started(server(2), { devices: 2, levels: [DEVICES] })
        expect(lastOf(course(apart(), new Random(1)))).to.deep.equal(lastOf(course(apart(), inStep())))
      }
    })

    it('begins where a restart says, with no older model', () => {
      const run = started(servers['one that has the optimiser'](3))
      engine.setRestarts(run.group, [5])
      const { adopted, models } = course(run, new Random(2))
      for (const each of adopted) for (const c of [5, 6, 7, 8, 9]) expect(each[c]).to.deep.equal(models[Math.max(5, c - 3)])
    })
  })

const lastOf = ({ models }: Course): Vector => models.at(-1)!

describe('the options of a parameter server', () => {
  const wrong: readonly (readonly [options: ParameterServerOptions, words: string])[] = [
    [{ slack: 65 }, '0 to 64'],
    [{ slack: 1, apply: 'optimiser', readMyWrites: true }, 'apply updates'],
    [{ slack: 'none', fresh: 'bound' }, 'latest'],
    [{ slack: 'none', apply: 'optimiser' }, 'updates'],
    [{ slack: 'none', readMyWrites: false }, 'true']
  ]
  it('are refused where they contradict each other', async () => {
    for (const [options, words] of wrong) await refused('INVALID_OPTION', () => parameterServer(options), words)
  })

  it('take updates where a learner sees its own', () => {
    expect(parameterServer({ slack: 1, readMyWrites: true }).kind).to.equal('synchronous')
    expect(parameterServer({ slack: 1, readMyWrites: true })).to.have.nested.property('central.kind', 'updates')
    expect(parameterServer({ slack: 'none' })).to.include({ kind: 'asynchronous', slack: null })
  })
})
