import { expect } from 'chai'
import { actorsAt, type JobActors, type RunCall, type SynchroniserStatus } from '../../src/actors/index.js'
import { checkedCall, RunDirectory, type Addressees } from '../../src/run/run-directory.js'
import { deferred } from '../../src/runtime/promises.js'
import { heap } from '../runtime/support/heap.js'
import { refused } from '../support/codes.js'
import { rejection } from '../support/rejection.js'
import { someRoundsLater, talkedTo, trainManyRounds } from './support/talked-to.js'

describe('the directory of a run', () => {
  const heard: string[] = []
  const hear = async ({ actor, method }: RunCall) => void heard.push(`${actor}.${method}`)
  const there: Addressees = {
    learners: () => 2,
    deliver: { synchroniser: hear, supervisor: hear, learner: hear, evaluator: hear, checkpoints: hear, feeder: hear }
  }
  const opened = (): RunDirectory => {
    const directory = new RunDirectory(2, () => {})
    directory.open(there)
    return directory
  }
  const call = (more: Partial<RunCall>): RunCall => ({ actor: 'synchroniser', method: 'status', args: [], told: false, ...more })

  beforeEach(() => void heard.splice(0))

  it('refuses what no actor has, and delivers nothing of it', async () => {
    const directory = opened()
    const wrong: readonly (readonly [code: 'UNKNOWN_NAME' | 'INVALID_OPTION', call: Partial<RunCall>, words: string])[] = [
      ['UNKNOWN_NAME', { actor: 'nobody' as never }, 'nobody'],
      ['UNKNOWN_NAME', { actor: 'toString' as never }, 'toString'],
      ['UNKNOWN_NAME', { method: 'stats' }, 'status'],
      ['UNKNOWN_NAME', { method: 'constructor' }, 'constructor'],
      ['UNKNOWN_NAME', { actor: 'supervisor', method: 'close' }, 'close'],
      ['INVALID_OPTION', { actor: 'learner', place: 2 }, '0 to 1'],
      ['INVALID_OPTION', { actor: 'learner', place: 0.5 }, '0.5'],
      ['INVALID_OPTION', { actor: 'learner' }, 'place']
    ]
    for (const [code, each, words] of wrong) await refused(code, () => directory.call(call(each)), words)
    expect(heard).to.deep.equal([])
  })

  it('names the only place of a run with one learner', async () => {
    const directory = new RunDirectory(1, () => {})
    directory.open({ ...there, learners: () => 1 })
    await refused(
      'INVALID_OPTION',
      () => directory.call(call({ actor: 'learner', place: 1 })),
      'place: received 1; use 0: the run has one learner'
    )
  })

  it('lets no learner wait for its own rest, and delivers what it tells', async () => {
    const directory = opened()
    await refused('INVALID_STATE', () => directory.call(call({ method: 'pause' }), 'learner'), 'use tell')
    await directory.call(call({ method: 'pause', told: true }), 'learner')
    await directory.call(call({}), 'learner')
    expect(heard).to.deep.equal(['synchroniser.pause', 'synchroniser.status'])
  })

  it('looks at the status without a message where this thread can', async () => {
    const directory = new RunDirectory(2, () => {})
    let round = 0
    directory.open({ ...there, status: () => ({ round: round++ }) as SynchroniserStatus })
    expect(await directory.call(call({}))).to.deep.equal({ round: 0 })
    expect(await directory.call(call({}), 'learner')).to.deep.equal({ round: 1 })
    await directory.call(call({ actor: 'feeder' }))
    expect(heard).to.deep.equal(['feeder.status'])
    directory.close()
    await refused('ACTOR_GONE', () => directory.call(call({})))
  })

  it('settles what waits for actors that never come, and all that is sent after the end', async () => {
    const directory = new RunDirectory(2, () => {})
    const early = directory.call(call({}))
    directory.close()
    await refused('ACTOR_GONE', () => early)
    await refused('ACTOR_GONE', () => directory.call(call({ actor: 'run', method: 'stop' })))
  })

  it('settles calls in any order, and at the end those that are left', async () => {
    const answers = Array.from({ length: 5 }, () => deferred<unknown>())
    const directory = new RunDirectory(2, () => {})
    let next = 0
    directory.open({ ...there, deliver: { ...there.deliver, synchroniser: () => answers[next++]!.promise } })
    const asked = answers.map(() => directory.call(call({})))
    answers[1]!.resolve('second')
    answers[4]!.reject(new Error('fifth'))
    answers[0]!.resolve('first')
    expect(await Promise.all([asked[0], asked[1]])).to.deep.equal(['first', 'second'])
    expect(await rejection(asked[4]!)).to.have.property('message', 'fifth')
    directory.close()
    for (const left of [asked[2]!, asked[3]!]) await refused('ACTOR_GONE', () => left)
    answers[2]!.resolve('late')
    answers[3]!.reject(new Error('late'))
  })

  it('keeps no answer', async () => {
    const directory = opened()
    const ask = async () => {
      for (let i = 0; i < 20_000; i++) await directory.call(call({}))
      heard.splice(0)
    }
    await ask()
    const before = heap()
    await ask()
    // What is kept of an answer takes 100 bytes and more.
    expect(heap() - before).below(1_000_000)
  })

  it('checks the shape of a call that comes as JSON', async () => {
    expect(checkedCall({ actor: 'learner', method: 'status', place: 1 })).to.deep.equal({
      actor: 'learner',
      method: 'status',
      place: 1,
      args: [],
      told: false
    })
    for (const wrong of [
      null,
      7,
      {},
      { actor: 'learner' },
      { ...call({}), place: -1 },
      { ...call({}), args: 'all' },
      { ...call({}), more: 1 }
    ])
      expect(await rejection(Promise.resolve().then(() => checkedCall(wrong))), JSON.stringify(wrong))
        .to.have.property('code')
        .that.is.oneOf(['INVALID_OPTION', 'UNKNOWN_NAME'])
  })
})

describe('what belongs to another job', () => {
  it('is refused: a port, and interventions that do not suit', async () => {
    let ofFirst: JobActors | undefined
    const { interventions = [] } = await talkedTo({ learners: 3 }, async (first) => {
      ofFirst = actorsAt(first.connect())
      await someRoundsLater(first, 10)
      await first.actors.supervisor.ask.replace(2)
    })
    const second = await talkedTo({}, async ({ actors }) => {
      await actors.synchroniser.ask.status()
      await refused('ACTOR_GONE', () => ofFirst!.synchroniser.ask.status())
    })
    expect(second.interventions).to.equal(undefined)
    const repeated = await trainManyRounds({ interventions })
    expect(await rejection(repeated.finished)).to.have.property('code', 'INVALID_OPTION')
  })
})
