import { expect } from 'chai'
import { MOST_POINTS } from '../../src/dashboard/bounded-curve.js'
import { STATES, VACANT } from '../../src/dashboard/page/wire.js'
import type { IntervenedEvent } from '../../src/observe/events.js'
import { BEGAN, FINISHED, look, newBoard, progressAt, startedWith } from './support/board.js'

describe('the board of a run', () => {
  it('has what events tell, and tells each change once', () => {
    const board = newBoard()
    board.take(startedWith(2), BEGAN + 1)
    board.take(progressAt(10, 0.5), BEGAN + 2)
    board.take(progressAt(20, NaN), BEGAN + 3)
    const first = board.takeChanges()!
    expect(first.facts).to.include({ state: 'training', model: 'lenet', learners: 2, iteration: 20, loss: null })
    expect(first.curves!['progress']!.points).to.deep.equal([
      [10, 2, 0.5, 0.1, 1000, 2],
      [20, 3, null, 0.1, 1000, 2]
    ])
    expect(first.facts!.memory!.devices).to.deep.equal([{ learners: 2, learnerBytes: 7e6, sharedBytes: 36e6 }])
    expect(board.takeChanges()).to.equal(undefined)
    board.take(progressAt(30, 0.4), BEGAN + 4)
    expect(board.takeChanges()!.curves!['progress']).to.deep.equal({ from: 2, points: [[30, 4, 0.4, 0.1, 1000, 2]] })
  })

  it('has the memory of the first host, which holds its own learners', () => {
    const board = newBoard()
    const learners = () => board.facts.memory!.devices.map((device) => device.learners)
    board.take({ ...startedWith(5), hosts: 2 }, BEGAN)
    expect(learners()).to.deep.equal([3])
    board.look({ ...look(), population: { ...look().population, learners: 8 } }, BEGAN + 1)
    expect(learners()).to.deep.equal([4])
    const lost = { event: 'hostLost', host: 1, reason: 'killed', round: 9, iteration: 18, iterations: 100, hosts: 1, learners: 4 } as const
    board.take(lost, BEGAN + 2)
    expect(learners()).to.deep.equal([4])
  })

  it('tells shares of a round: waiting for others, averaging, and the distance where it was measured', () => {
    const board = newBoard()
    board.take(startedWith(2), BEGAN)
    const members = [
      { learner: 0, distance: 2, waited: 0.5 },
      { learner: 1, distance: null, waited: 0.1 }
    ]
    board.look(look({ rounds: [{ round: 4, iteration: 8, began: 100, seconds: 101, averaged: 0.1, loss: 1, members }] }), BEGAN + 1)
    expect(board.place(0)).to.deep.equal([1, 0, STATES.indexOf('training'), 0.4, 0.1, 2])
    expect(board.place(1)).to.deep.equal([1, 1, STATES.indexOf('training'), 0, 0.1, null])
    expect(board.facts.rule).to.deep.equal({ kind: 'sma', numbers: { kind: 'sma', alpha: null, momentum: 0.9, period: 2 } })
    const hogwild = { kind: 'asynchronous', exchange: { kind: 'inPlace' }, slack: null, period: 16 } as const
    board.look({ ...look(), status: { ...look().status, rule: hogwild } }, BEGAN + 1.5)
    expect(board.facts.rule).to.deep.equal({ kind: 'asynchronous', numbers: { exchange: 'inPlace', period: 16 } })
    // A round that takes longer than a look: the shares hold.
    board.look(look({ round: 6 }), BEGAN + 2)
    expect(board.place(0)!.slice(3)).to.deep.equal([0.4, 0.1, null])
  })

  it('shows a learner that died, and its successor, even if both fall between two looks', () => {
    const board = newBoard()
    board.take(startedWith(2), BEGAN)
    const lost = { learner: 1, rank: 1, reason: 'it threw', code: null, round: 7, iteration: 14, replacedBy: 2, vacant: false }
    board.take({ event: 'learnerLost', ...lost }, BEGAN + 1)
    board.take({ event: 'intervened', intervention: { kind: 'join', round: 8, iteration: 16, place: 1 } }, BEGAN + 1.1)
    board.look(look(), BEGAN + 1.25)
    expect(board.place(1)![2]).to.equal(STATES.indexOf('dead'))
    board.look(look(), BEGAN + 1.5)
    expect(board.place(1)![2]).to.equal(STATES.indexOf('training'))
    const { happenings, facts } = board.whole()
    expect(happenings!.items.map(({ kind, place }) => [kind, place])).to.deep.equal([
      ['lost', 1],
      ['replaced', 1]
    ])
    expect(facts!.deaths).to.equal(1)
  })

  it('tells the present state of a place, also where its lane merges many looks to the gravest', () => {
    const board = newBoard()
    board.take(startedWith(2), BEGAN)
    const lost = { learner: 1, rank: 1, reason: 'it threw', code: null, round: 7, iteration: 14, replacedBy: 2, vacant: false }
    for (let i = 1; i <= 4 * MOST_POINTS + 2; i++) {
      if (i === 4 * MOST_POINTS + 1) board.take({ event: 'learnerLost', ...lost }, BEGAN + i)
      board.look(look(), BEGAN + i)
    }
    expect(board.place(1)![2]).to.equal(STATES.indexOf('training'))
    expect(board.whole().curves!['place 1']!.points.at(-1)![2]).to.equal(STATES.indexOf('dead'))
  })

  it('goes on along its time where the clock is put back', () => {
    const board = newBoard()
    board.take(startedWith(2), BEGAN)
    board.take(progressAt(10), BEGAN + 100)
    board.take(progressAt(20), BEGAN + 101 - 3600)
    board.look(look(), BEGAN + 102 - 3600)
    board.take({ event: 'warning', message: 'late' }, BEGAN + 103 - 3600)
    const { curves, happenings } = board.whole()
    expect(curves!['progress']!.points.map(([, seconds]) => seconds)).to.deep.equal([100, 100])
    expect(board.place(0)![0]).to.equal(101)
    expect(happenings!.items.at(-1)!.seconds).to.equal(102)
  })

  it('keeps the newest happenings, and counts the others', () => {
    const board = newBoard()
    for (let i = 0; i < 1000; i++) board.take({ event: 'warning', message: `${i}` }, BEGAN + i)
    const { from, items } = board.whole().happenings!
    expect([from, items.length, items[0]!.detail]).to.deep.equal([800, 200, '800'])
    board.takeChanges()
    board.take({ event: 'warning', message: 'last' }, BEGAN + 1000)
    expect(board.takeChanges()!.happenings).to.deep.include({ from: 1000 })
  })

  it('tells what happened as the terminal does', () => {
    const board = newBoard()
    const lost = {
      event: 'learnerLost',
      learner: 1,
      rank: 1,
      reason: 'it threw',
      code: null,
      round: 7,
      iteration: 14,
      replacedBy: null
    } as const
    board.take({ ...lost, vacant: true }, BEGAN)
    board.take({ ...lost, vacant: false }, BEGAN)
    const host = { event: 'hostLost', host: 1, reason: 'killed', round: 9, iteration: 18, iterations: 100, hosts: 2, learners: 1 } as const
    board.take(host, BEGAN)
    for (let skipped = 1; skipped <= 1000; skipped++)
      board.take({ event: 'sampleSkipped', item: `${skipped}.png`, reason: 'no image', skipped }, BEGAN)
    board.take({ event: 'setAside', checkpoints: [{ folder: 'run/600', movedTo: 'run/600.aside', reason: null }] }, BEGAN)
    board.take({ ...FINISHED, reason: 'patience', hint: 'no better than the mean', checkpoints: 'incomplete' }, BEGAN)
    board.take({ ...FINISHED, reason: 'stopped', weightsSha256: '' }, BEGAN)
    expect(board.whole().happenings!.items.map(({ kind, title, detail }) => `${kind}: ${title}: ${detail}`)).to.deep.equal([
      'lost: Learner 1 was lost in round 7: it threw. The others go on without it.',
      'lost: Learner 1 was lost in round 7: it threw. Too many have failed in its place.',
      'lost: Host 1 was lost: killed. 2 hosts go on with 1 learner.',
      'warning: A sample was skipped: 1.png: no image',
      'warning: 10 samples were skipped: 10.png: no image',
      'warning: 100 samples were skipped: 100.png: no image',
      'warning: 1,000 samples were skipped: 1000.png: no image',
      'warning: A checkpoint was moved aside: run/600 to run/600.aside: the run does not go on from it',
      'end: Ended: it improved no more: Not every checkpoint could be written. Hint: no better than the mean. Weights sha256 0000000000000000…',
      'end: Stopped: Nothing was trained.'
    ])
  })

  it('tells what was changed in few words, and the error of a message that a learner could not take', () => {
    const board = newBoard()
    const at = { round: 3, iteration: 6 }
    const told = (event: Omit<IntervenedEvent, 'event'>) => {
      board.take({ event: 'intervened', ...event }, BEGAN)
      const { kind, title, detail } = board.whole().happenings!.items.at(-1)!
      return `${kind}: ${title}: ${detail}`
    }
    expect(told({ intervention: { kind: 'set', ...at, learningRate: 0.01 } })).to.equal('change: set before round 3: {"learningRate":0.01}')
    expect(told({ intervention: { kind: 'pause', ...at } })).to.equal('change: pause before round 3: ')
    const message = { kind: 'message', ...at, place: 0, method: 'take', args: ['x'.repeat(5e6)] } as const
    const error = { code: 'UNKNOWN_NAME', message: 'no method take' }
    expect(told({ intervention: message, error })).to.match(
      /^warning: message before round 3: \{"place":0,"method":"take",.{1,400}… \(5,000,0\d\d characters\) — UNKNOWN_NAME: no method take$/
    )
  })

  it('tells how several hosts sum', () => {
    const board = newBoard()
    board.take({ event: 'exchange', mode: 'racks', predicted: [], reason: 'as given' }, BEGAN)
    expect(board.facts.exchange).to.equal('Hosts sum by exchange racks: as given')
  })

  it('of a log has the lanes that its events tell', () => {
    const board = newBoard('log', { isLive: false })
    board.take(startedWith(2), BEGAN)
    const figures = { round: 3, iteration: 6, iterations: 1000, reason: 'measured', figures: [] }
    board.take({ event: 'population', action: 'try', from: 2, to: 3, ...figures }, BEGAN + 1)
    expect([0, 1, 2, 3].map((place) => board.place(place)?.[0])).to.deep.equal([1, 1, 1, undefined])
    board.interrupt()
    expect(board.facts.state).to.equal('interrupted')
  })

  it('has no learner in a place that a smaller population lacks, also where another has come and gone', () => {
    const board = newBoard()
    const states = () => board.facts.places.map((_, place) => STATES[board.place(place)![2]!])
    board.take(startedWith(4), BEGAN)
    board.look(look({ learners: 4 }), BEGAN + 1)
    board.look(look(), BEGAN + 2)
    expect(states()).to.deep.equal(['training', 'training', 'vacant', 'vacant'])
    expect(board.place(2)).to.deep.equal([2, null, VACANT, null, null, null])
    board.look(look(), BEGAN + 3)
    expect(board.place(2)![0]).to.equal(2)
    board.look(look({ learners: 3 }), BEGAN + 4)
    expect(states()).to.deep.equal(['training', 'training', 'training', 'vacant'])
  })

  it('has at the end all that was measured of the model that is kept', () => {
    const board = newBoard()
    board.take(startedWith(2), BEGAN)
    const evaluated = { event: 'evaluated', epoch: 1, testAccuracy: null, seconds: 1 } as const
    board.take({ ...evaluated, iteration: 10, testLoss: 1, testMetrics: { r2: 0.9, mae: 3 } }, BEGAN + 1)
    board.take({ ...evaluated, iteration: 20, testLoss: 2, testMetrics: { r2: 0.5, mae: 5 } }, BEGAN + 2)
    expect(board.facts).to.include({ testLoss: 2, testR2: 0.5, testMae: 5 })
    board.take({ ...FINISHED, keptIteration: 10, testLoss: 1, testAccuracy: null, testMetrics: { r2: 0.9, mae: 3 } }, BEGAN + 3)
    expect(board.facts).to.include({ testLoss: 1, testR2: 0.9, testMae: 3 })
  })

  it('has nobody who trains in a run that is over', () => {
    for (const isLive of [true, false])
      for (const end of [FINISHED, { event: 'failed', code: 'INTERNAL', message: 'all of it' } as const]) {
        const board = newBoard('run', { isLive })
        board.take(startedWith(3), BEGAN)
        if (isLive) for (const learners of [3, 2]) board.look(look({ learners }), BEGAN + 1)
        board.take(end, BEGAN + 2)
        const places = [0, 1, 2].map((place) => board.place(place)!)
        expect(places.map(([, , state]) => STATES[state!])).to.deep.equal(['resting', 'resting', isLive ? 'vacant' : 'resting'])
        expect(places[1]![1]).to.equal(isLive ? 1 : null)
      }
  })

  it('of a log has no learner in the places that a smaller population lacks, and those of a lost host', () => {
    const board = newBoard('log', { isLive: false })
    const states = () => board.facts.places.map((_, place) => STATES[board.place(place)![2]!])
    board.take({ ...startedWith(4), hosts: 2 }, BEGAN)
    const figures = { round: 3, iteration: 6, iterations: 1000, reason: 'measured', figures: [] }
    board.take({ event: 'population', action: 'settle', from: 4, to: 3, ...figures }, BEGAN + 1)
    expect(states()).to.deep.equal(['training', 'training', 'training', 'vacant'])
    const lost = { event: 'hostLost', host: 1, reason: 'killed', round: 9, iteration: 18, iterations: 100, hosts: 1, learners: 2 } as const
    board.take(lost, BEGAN + 2)
    expect(states()).to.deep.equal(['training', 'training', 'vacant', 'vacant'])
  })

  it('of a log has the learners that a program has asked for, and bears with places that it has not told of', () => {
    const board = newBoard('log', { isLive: false })
    const states = () => board.facts.places.map(([, , state]) => STATES[state!])
    const resize = (learners: number) =>
      board.take({ event: 'intervened', intervention: { kind: 'resize', round: 3, iteration: 6, learners } }, BEGAN + learners)
    board.take(startedWith(2), BEGAN)
    const lost = { learner: 5, rank: 3, reason: 'it threw', code: null, round: 7, iteration: 14, replacedBy: 6, vacant: false }
    board.take({ event: 'learnerLost', ...lost }, BEGAN)
    expect(states()).to.deep.equal(['training', 'training', 'vacant', 'dead'])
    resize(4)
    expect(states()).to.deep.equal(['training', 'training', 'training', 'training'])
    resize(1)
    expect(states()).to.deep.equal(['training', 'vacant', 'vacant', 'vacant'])
    board.take(FINISHED, BEGAN + 5)
    expect(states()).to.deep.equal(['resting', 'vacant', 'vacant', 'vacant'])
  })

  it('of a log with more learners than there can be has the lanes that a page shows, at once', () => {
    const board = newBoard('log', { isLive: false })
    board.take(startedWith(Number.MAX_SAFE_INTEGER), BEGAN)
    expect(board.facts.places).to.have.length(64)
  })

  it('knows no share of a learner of the attempt before, when the run has gone back', () => {
    const board = newBoard()
    board.take(startedWith(2), BEGAN)
    const members = [{ learner: 0, distance: 2, waited: 0.5 }]
    board.look(look({ rounds: [{ round: 4, iteration: 8, began: 100, seconds: 101, averaged: 0.1, loss: 1, members }] }), BEGAN + 1)
    board.look(look(), BEGAN + 2)
    expect(board.place(0)![3]).to.be.closeTo(0.4, 1e-9)
    board.take({ event: 'wentBack', iteration: 10, learningRateScale: 0.5, retries: 1 }, BEGAN + 3)
    board.look(look(), BEGAN + 4)
    expect(board.place(0)![3]).to.equal(null)
  })
})
