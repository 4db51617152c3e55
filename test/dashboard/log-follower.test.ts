import { expect } from 'chai'
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { LogFollower } from '../../src/dashboard/log-follower.js'
import { heap } from '../runtime/support/heap.js'
import { rejection } from '../support/rejection.js'
import { FINISHED, progressAt, startedWith } from './support/board.js'

describe('a log that is followed', () => {
  let folder: string
  /** A run that has written nothing for a minute before the present counts as interrupted. */
  let now: number
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'arbalest-logs-'))
    now = Date.now() / 1000
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const line = (run: string, event: object, time = now) => `${JSON.stringify({ run, time, ...event })}\n`
  const begin = (run: string) => line(run, { event: 'run', options: {}, versions: {} }) + line(run, startedWith(2))

  it('has the runs of all logs of a folder, and grows with them', async () => {
    const log = join(folder, 'a.jsonl')
    writeFileSync(log, begin('a') + line('a', progressAt(1)))
    writeFileSync(join(folder, 'b.jsonl'), begin('b') + begin('c'))
    const follower = await LogFollower.open(folder)
    expect(follower.boards.map(({ id }) => id)).to.have.members(['a', 'b', 'c'])
    const board = follower.boards.find(({ id }) => id === 'a')!
    expect(board.facts).to.include({ name: 'lenet on digits, a', state: 'training', iteration: 1 })
    // A line that is not whole yet, in two parts.
    const next = line('a', progressAt(2))
    appendFileSync(log, next.slice(0, 30))
    await follower.look()
    expect(board.facts.iteration).to.equal(1)
    appendFileSync(log, next.slice(30))
    await follower.look()
    expect(board.facts.iteration).to.equal(2)
  })

  it('takes each event of a run once, also where a second log has it and where its log is renamed', async () => {
    const [log, copy] = [join(folder, 'a.jsonl'), join(folder, 'b.jsonl')]
    const lost = (round: number) =>
      line('a', { event: 'learnerLost', learner: 1, rank: 1, reason: '', code: null, round, iteration: 1, replacedBy: 2 }, now + round)
    writeFileSync(log, begin('a') + lost(1))
    writeFileSync(copy, begin('a') + lost(1))
    const follower = await LogFollower.open(folder)
    const [board, ...others] = follower.boards
    expect(others).to.deep.equal([])
    expect(board!.facts.deaths).to.equal(1)
    appendFileSync(copy, lost(2))
    appendFileSync(log, lost(2) + lost(3))
    await follower.look()
    expect(board!.facts.deaths).to.equal(3)
    renameSync(log, join(folder, 'c.jsonl'))
    appendFileSync(join(folder, 'c.jsonl'), lost(4))
    await sleep(2_100)
    await follower.look()
    expect(board!.facts.deaths).to.equal(4)
  })

  it('does not stumble over lines that are no events, and tells runs that were interrupted', async () => {
    const log = join(folder, 'a.jsonl')
    const wrong = [
      '{',
      'null',
      '[]',
      line('a', { event: 'progress' }),
      line('a', { event: 'population', from: 1 }),
      line('x', progressAt(1))
    ]
    writeFileSync(log, `${begin('a')}${wrong.join('\n')}\n${'x'.repeat(5e6)}\n${line('a', progressAt(7), now - 3600)}`)
    const [board, ...others] = (await LogFollower.open(log)).boards
    expect(others).to.deep.equal([])
    expect(board!.facts).to.include({ iteration: 7, state: 'interrupted' })
  })

  it('shows a run as training again that writes on after a long silence, and as completed where it ends then', async () => {
    const log = join(folder, 'a.jsonl')
    writeFileSync(log, begin('a') + line('a', progressAt(1), now - 3600))
    const follower = await LogFollower.open(log)
    const [board] = follower.boards
    expect(board!.facts.state).to.equal('interrupted')
    appendFileSync(log, line('a', progressAt(2)))
    await follower.look()
    expect(board!.facts).to.include({ iteration: 2, state: 'training' })
    board!.interrupt()
    appendFileSync(log, line('a', FINISHED))
    await follower.look()
    expect(board!.facts.state).to.equal('completed')
  })

  it('shows the end of a run that has sent much to its learners: it is one line with all of that', async () => {
    const log = join(folder, 'a.jsonl')
    const interventions = [{ round: 1, iteration: 1, kind: 'message', place: 0, method: 'm', args: ['x'.repeat(5e6)] }]
    writeFileSync(log, begin('a') + line('a', { ...FINISHED, interventions }))
    expect((await LogFollower.open(log)).boards[0]!.facts.state).to.equal('completed')
  })

  it('shows the newest runs of thousands, and keeps nothing of the others', async () => {
    const log = join(folder, 'a.jsonl')
    const runs = 1500
    for (let i = 0; i < runs; i++) {
      const began = now - 10 * (i % 2 === 0 ? i : runs - i)
      const events = [
        { event: 'run', options: {}, versions: {} },
        startedWith(2),
        ...Array.from({ length: 100 }, (_, k) => progressAt(k + 1))
      ]
      appendFileSync(log, events.map((event, k) => line(`run ${i}`, event, began + k / 100)).join(''))
    }
    const before = heap()
    const follower = await LogFollower.open(log)
    // Of which each takes more than 10 kB.
    expect(heap() - before).to.be.below(6_000_000)
    const began = follower.boards.map(({ facts }) => Math.round((now - facts.began) / 10))
    const newest = Array.from({ length: runs }, (_, i) => (i % 2 === 0 ? i : runs - i))
      .toSorted((a, b) => a - b)
      .slice(0, 64)
    expect(began.toReversed()).to.deep.equal(newest)
  })

  it('must be there', async () => {
    expect(await rejection(LogFollower.open(join(folder, 'none')))).to.include({ code: 'DATA_NOT_FOUND' })
  })
})
