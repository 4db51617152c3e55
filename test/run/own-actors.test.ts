import { expect } from 'chai'
import { codeOf } from '../../src/errors.js'
import { refused } from '../support/codes.js'
import { rejection } from '../support/rejection.js'
import { someRoundsLater, talkedTo, trainManyRounds } from './support/talked-to.js'

const STRICT = new URL('../fakes/strict-supervisor.js', import.meta.url)
const ROUNDING = new URL('../fakes/rounding-synchroniser.js', import.meta.url)

describe('an actor of the user’s own', () => {
  it('takes the place of the supervisor', async () => {
    const finished = await talkedTo({ supervisor: STRICT, learners: 1 }, async ({ actors }) => {
      await refused('INVALID_STATE', () => actors.supervisor.ask.resize(3), 'two at most')
      await actors.supervisor.ask.resize(2)
      await someRoundsLater({ actors }, 1)
    })
    expect(finished.learners).to.equal(2)
    expect(finished.interventions).to.have.length(1)
  })

  it('takes the place of the synchroniser', async () => {
    const constant = { learningRate: 0.1, milestones: [], momentum: 0 } as const
    const options = { until: { steps: 100 }, optimiser: constant }
    const slow = await (await trainManyRounds({ ...options, synchroniserActor: ROUNDING })).finished
    const tenth = await (await trainManyRounds({ ...options, optimiser: { ...constant, learningRate: 0.01 } })).finished
    expect(Math.abs(slow.testLoss - tenth.testLoss)).below(1e-4)
  })

  it('answers by its own status', async () => {
    const built = (room: string) => new URL(`../../src/${room}/index.js`, import.meta.url).href
    // A deferred reply: whoever called it without a message would take the reply itself for the status.
    const source = `import { Synchroniser } from '${built('actors')}'
      import { DeferredReply } from '${built('runtime')}'
      export default class extends Synchroniser { status() { return new DeferredReply(Promise.resolve({ ...super.status(), position: -1 })) } }`
    const synchroniserActor = new URL(`data:text/javascript,${encodeURIComponent(source)}`)
    await talkedTo({ synchroniserActor }, async ({ actors }) => {
      // The first ask waits for the actors, the second finds them there.
      for (let ask = 0; ask < 2; ask++) expect((await actors.synchroniser.ask.status()).position).to.equal(-1)
    })
  })

  for (const [method, answer] of [
    ['group', 'undefined'],
    ['status', '({})'],
    ['losses', '[1]'],
    ['isFinite', 'undefined'],
    ['centralVector', 'undefined']
  ] as const)
    it(`fails the run where its ${method} answers nonsense, and names it`, async () => {
      const built = new URL('../../src/actors/index.js', import.meta.url).href
      const source = `import { Synchroniser } from '${built}'
        export default class extends Synchroniser { ${method}() { return ${answer} } }`
      const module = new URL(`data:text/javascript,${encodeURIComponent(source)}`)
      const error = await rejection((await trainManyRounds({ synchroniserActor: module, until: { steps: 100 } })).finished)
      expect(error).to.have.property('code', 'INVALID_OPTION')
      expect((error as Error).message).to.match(
        new RegExp(
          `^synchroniserActor: received "data:.*; its method ${method} answers .*; let it answer .*, as that of Synchroniser does$`
        )
      )
    })

  for (const [how, parameter, source] of [
    ['its constructor throws', 'supervisor', 'constructor(...values) { super(...values); throw new RangeError("of mine") }'],
    ['a hook of its own rejects', 'supervisor', 'async started() { throw new RangeError("of mine") }'],
    ['a method rejects later', 'supervisor', 'train() { return super.train().value.then(() => { throw new RangeError("of mine") }) }'],
    ['a method throws', 'synchroniserActor', 'follow() { throw new RangeError("of mine") }'],
    ['a method throws what is no error', 'synchroniserActor', 'losses() { throw "of mine" }']
  ] as const)
    it(`is what has failed, and not Arbalest, where ${how}`, async () => {
      const built = new URL('../../src/actors/index.js', import.meta.url).href
      const name = parameter === 'supervisor' ? 'Supervisor' : 'Synchroniser'
      const text = `import { ${name} } from '${built}'; export default class extends ${name} { ${source} }`
      const module = new URL(`data:text/javascript,${encodeURIComponent(text)}`)
      const error = await rejection((await trainManyRounds({ [parameter]: module, until: { steps: 100 } })).finished)
      expect(error).to.be.an('error').that.has.property('message').that.contains('of mine')
      expect(codeOf(error)).to.equal('CALLBACK_FAILED')
    })

  it('fails the run where its train lets no learner train: the run would ask for ever', async () => {
    const built = new URL('../../src/actors/index.js', import.meta.url).href
    const source = `import { Supervisor } from '${built}'; export default class extends Supervisor { train() {} }`
    const supervisor = new URL(`data:text/javascript,${encodeURIComponent(source)}`)
    const error = await refused('INVALID_OPTION', async () => (await trainManyRounds({ supervisor })).finished)
    expect(error.message).to.match(
      /^supervisor: received "data:.*; its method train answers, and no learner trains; let it answer what super\.train\(\) answers$/
    )
  })

  it('is named where it starts no learner, and where it answers nonsense', async () => {
    const built = new URL('../../src/actors/index.js', import.meta.url).href
    const own = (methods: string) => {
      const source = `import { Supervisor } from '${built}'; export default class extends Supervisor { ${methods} }`
      return new URL(`data:text/javascript,${encodeURIComponent(source)}`)
    }
    const none = async () => (await trainManyRounds({ supervisor: own('start() {}') })).finished
    await refused('INVALID_OPTION', none, 'supervisor: received "data:', 'no learner has started; let it await super.start()')
    const nonsense = own('replaceNow() { return [] } messageNow() { return 5 }')
    await talkedTo({ supervisor: nonsense, learners: 1 }, async ({ actors }) => {
      await refused('INVALID_OPTION', () => actors.supervisor.ask.replace(0), 'its method replaceNow answers []; let it answer the number')
      await refused('INVALID_OPTION', () => actors.supervisor.ask.message(0, 'any', []), 'its method messageNow answers 5')
    })
  })

  it('goes on where its train answers something else once the learners rest, however early they shall rest', async () => {
    const built = new URL('../../src/actors/index.js', import.meta.url).href
    const source = `import { Supervisor } from '${built}'
      export default class extends Supervisor { train() { return super.train().value.then(() => {}) } }`
    const supervisor = new URL(`data:text/javascript,${encodeURIComponent(source)}`)
    await talkedTo({ supervisor }, async ({ actors }) => {
      for (let change = 0; change < 20; change++) await actors.synchroniser.ask.set({ learningRate: 0.01 })
    })
  })

  it('is refused if it lacks a method that the run calls', async () => {
    const module = new URL(`data:text/javascript,${encodeURIComponent('export default class { status() {} }')}`)
    const error = await rejection((await trainManyRounds({ supervisor: module })).finished)
    expect(error).to.have.property('code', 'INVALID_OPTION')
    expect((error as Error).message).to.match(/^supervisor: received "data:.*extend Supervisor of arbalest\/actors$/)
  })
})
