import { expect } from 'chai'
import fc from 'fast-check'
import type { ActorRef } from '../../src/runtime/actor-ref.js'
import type { Fault } from '../../src/runtime/testkit/fault-injector.js'
import { TestKit } from '../../src/runtime/testkit/index.js'
import { INTENSITY, nextNumber, plant, type Entry, type Journal, type TreeNode, type TreeSpec } from './support/tree.js'

/** Everything that a random run did and observed. */
interface Run {
  readonly kit: TestKit
  readonly journal: Journal
  readonly asks: { settled: boolean }[]
  /** Sender, receiver and number of each ask. */
  readonly asked: Set<string>
}

type Command =
  | { readonly do: 'tell' | 'ask' | 'fail' | 'askToFail' | 'stop' | 'suspend' | 'resume'; readonly target: number; readonly sender: number }
  | { readonly do: 'forward'; readonly target: number; readonly to: number; readonly sender: number }
  | { readonly do: 'later'; readonly target: number; readonly sender: number; readonly milliseconds: number }
  | { readonly do: 'fault'; readonly target: number; readonly nth: number; readonly fault: Fault }
  | { readonly do: 'advance'; readonly milliseconds: number }
  | { readonly do: 'settle' }

function treesOf(depth: number): fc.Arbitrary<TreeSpec> {
  return fc.record({
    restart: fc.constantFrom('permanent', 'transient', 'temporary'),
    strategy: fc.constantFrom('oneForOne', 'restForOne', 'allForOne'),
    mailbox: fc.record({ capacity: fc.integer({ min: 1, max: 6 }), whenFull: fc.constantFrom('wait', 'reject', 'dropOldest') }),
    children: depth === 1 ? fc.constant([]) : fc.array(treesOf(depth - 1), { maxLength: 3 })
  })
}

const target = fc.nat(50)
const sender = fc.nat(2)
const anyCommand: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('tell' as const, 'tell' as const, 'ask' as const, 'fail' as const, 'fail' as const, 'askToFail' as const),
      target,
      sender
    })
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('stop' as const, 'suspend' as const, 'resume' as const), target, sender }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('forward' as const), target, to: target, sender }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('later' as const), target, sender, milliseconds: fc.integer({ min: 0, max: 15_000 }) })
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('fault' as const),
      target,
      nth: fc.integer({ min: 1, max: 4 }),
      fault: fc.oneof(fc.constantFrom('drop' as const, 'crash' as const), fc.record({ delay: fc.integer({ min: 1, max: 100 }) }))
    })
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('advance' as const), milliseconds: fc.integer({ min: 0, max: 400 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('settle' as const) }) }
)

const RUNS = 400
const EVERYTHING = ['actorGone', 'dropped', 'escalated', 'exited', 'mailboxFull', 'restarting', 'started']

describe('Random trees of actors', () => {
  it('lose no message but to dead letters, keep order, restart within bounds, stop in reverse, and settle every ask', async () => {
    const seen = new Set<string>()
    const trees = fc.array(treesOf(3), { minLength: 1, maxLength: 3 })
    const commands = fc.array(anyCommand, { minLength: 5, maxLength: 60, size: 'max' })
    await fc.assert(
      fc.asyncProperty(fc.nat(), trees, commands, async (seed, specs, list) => {
        const run = await execute(seed, specs, list)
        checkDeliveries(run)
        checkIntensity(run)
        const before = run.journal.entries.length
        const standing = alive(run.journal.entries)
        await run.kit.run(run.kit.system.stop())
        checkStops(standing, run.journal.entries.slice(before))
        expect(alive(run.journal.entries), 'still alive').to.deep.equal([])
        await run.kit.settle()
        expect(
          run.asks.filter(({ settled }) => !settled),
          'asks that did not settle'
        ).to.have.length(0)
        checkNothingLost(run)
        for (const event of run.kit.events) seen.add(event.event === 'deadLetter' ? event.cause : event.event)
      }),
      { numRuns: RUNS }
    )
    expect([...seen].sort(), 'what the runs came across').to.deep.equal(EVERYTHING)
  })
})

async function execute(seed: number, specs: readonly TreeSpec[], commands: readonly Command[]): Promise<Run> {
  const kit = new TestKit({ seed, supervision: { intensity: INTENSITY } })
  const journal: Journal = { entries: [], refs: new Map(), sent: new Map() }
  const run: Run = { kit, journal, asks: [], asked: new Set() }
  for (const [i, spec] of specs.entries()) await kit.until(plant(kit.system, `root${i}`, spec, journal))
  for (const each of commands) await perform(run, each)
  for (const ref of journal.refs.values()) ref.resume()
  await kit.advance(60_000)
  return run
}

async function perform(run: Run, command: Command): Promise<void> {
  const { kit, journal, asks, asked } = run
  if (command.do === 'advance') return kit.advance(command.milliseconds)
  if (command.do === 'settle') return kit.settle()
  const names = [...journal.refs.keys()]
  const name = names[command.target % names.length]!
  const ref = journal.refs.get(name)!
  if (command.do === 'fault') return kit.faults.add({ actor: name, nth: command.nth, fault: command.fault })
  if (command.do === 'stop') return void ref.stop()
  if (command.do === 'suspend') return ref.suspend()
  if (command.do === 'resume') return ref.resume()

  const from = `test${command.sender}`
  const number = nextNumber(journal, from, name)
  if (command.do === 'tell') return ref.tell.note(from, number)
  if (command.do === 'fail') return ref.tell.fail(from, number)
  if (command.do === 'forward') return ref.tell.forward(from, number, names[command.to % names.length]!)
  const entry = { settled: false }
  asks.push(entry)
  asked.add(`${from} ${name} ${number}`)
  const settle = () => void (entry.settled = true)
  ask(ref, command, from, number).then(settle, settle)
}

function ask(ref: ActorRef<TreeNode>, command: Command, from: string, number: number): Promise<number> {
  if (command.do === 'later') return ref.ask.later(from, number, command.milliseconds)
  return command.do === 'askToFail' ? ref.ask.fail(from, number) : ref.ask.note(from, number)
}

function checkDeliveries({ journal }: Run): void {
  const last = new Map<string, number>()
  for (const entry of journal.entries) {
    if (entry.what !== 'handled') continue
    const pair = `${entry.sender} ${entry.actor}`
    expect(entry.number, `${pair}: at most once, in order`).to.be.greaterThan(last.get(pair) ?? 0)
    last.set(pair, entry.number)
  }
}

/** For each incarnation of a parent separately: the next one remembers no failures. */
function checkIntensity({ kit }: Run): void {
  const lives = new Map<string, number>()
  const restarts = new Map<string, number[]>()
  for (const event of kit.events) {
    if (event.event === 'started') lives.set(event.actor, (lives.get(event.actor) ?? 0) + 1)
    if (event.event !== 'restarting') continue
    const parent = event.actor.split('/').slice(0, -1).join('/')
    const family = `${parent} ${lives.get(parent) ?? 0}`
    const recent = [...(restarts.get(family) ?? []), event.at].filter((time) => event.at - time < INTENSITY.within)
    expect(recent.length, `restarts below ${family}`).to.be.at.most(INTENSITY.restarts)
    restarts.set(family, recent)
  }
}

/** Actors that have started and not stopped, in the order of their starts. */
function alive(entries: readonly Entry[]): string[] {
  const standing: string[] = []
  for (const { what, actor } of entries) {
    if (what === 'started') standing.push(actor)
    if (what === 'stopping') standing.splice(standing.indexOf(actor), 1)
  }
  return standing
}

function checkStops(standing: readonly string[], entries: readonly Entry[]): void {
  const order = entries.filter(({ what }) => what === 'stopping').map(({ actor }) => actor)
  expect([...order].sort()).to.deep.equal([...standing].sort())
  for (const [i, actor] of order.entries()) {
    const parent = actor.split('/').slice(0, -1).join('/')
    if (parent !== '') expect(order.indexOf(parent), `${actor} before its parent`).to.be.greaterThan(i)
    const laterSiblings = order.slice(i + 1).filter((other) => other.split('/').slice(0, -1).join('/') === parent)
    for (const sibling of laterSiblings) expect(position(sibling), `${actor} before ${sibling}`).to.be.lessThan(position(actor))
  }
}

/** Siblings have numbers in the order in which they were spawned. */
function position(actor: string): number {
  return Number(actor.split('/').at(-1)!.replace('root', ''))
}

/** An ask that was not handled has rejected and is no dead letter. */
function checkNothingLost({ kit, journal, asked }: Run): void {
  const sent = [...journal.sent.values()].reduce((sum, count) => sum + count, 0)
  const handledTells = journal.entries.filter(
    (entry) => entry.what === 'handled' && !asked.has(`${entry.sender} ${entry.actor} ${entry.number}`)
  )
  expect(handledTells.length + kit.system.deadLetters, 'tells handled or dead').to.equal(sent - asked.size)
}
