import { expect } from 'chai'
import { MOST_POINTS } from '../../src/dashboard/bounded-curve.js'
import { PageRun, PageRuns } from '../../src/dashboard/page/run-state.js'
import { BEGAN, newBoard, progressAt, startedWith } from './support/board.js'

describe('a run as the page knows it', () => {
  it('is what the server knows, however many changes it got, and no larger', () => {
    const board = newBoard()
    const page = new PageRun(board.id)
    board.take(startedWith(2), BEGAN)
    page.take(structuredClone(board.whole()))
    for (let second = 0; second < 500; second++) {
      for (let i = 0; i < 100; i++) board.take(progressAt(100 * second + i, 1 / (1 + i)), BEGAN + second)
      if (second % 7 === 0) board.take({ event: 'warning', message: `${second}` }, BEGAN + second)
      // A stream that was lost comes back with everything; changes that were in it come once more.
      if (second % 100 === 50) page.take(structuredClone(board.whole()))
      const changes = board.takeChanges()
      if (changes) page.take(structuredClone(changes))
    }
    const { curves, happenings, facts } = board.whole()
    expect(page.points('progress')).to.deep.equal(curves!['progress']!.points)
    expect(page.happenings).to.deep.equal(happenings!.items)
    expect(page.facts).to.deep.equal(facts)
    expect(page.size).to.be.below(MOST_POINTS + 200)
    expect(page.latest('progress', 'progress', 'learners')).to.equal(2)
  })

  it('is the one of several that was chosen, else the last that trains', () => {
    const runs = new PageRuns()
    const boards = ['a', 'b', 'c'].map((id) => newBoard(id))
    boards[1]!.take(startedWith(1), BEGAN)
    runs.take({ runs: boards.map((board) => board.whole()) })
    expect(runs.focused!.id).to.equal('b')
    runs.draw('a', false)
    expect(runs.drawn.map((run) => [run.id, runs.colourOf(run)])).to.deep.equal([
      ['b', 'series-1'],
      ['c', 'series-2']
    ])
    runs.focus('a')
    expect([runs.focused!.id, runs.isDrawn('a')]).to.deep.equal(['a', true])
  })

  it('draws the newest of more runs than there are colours, each in its own, and those that were chosen', () => {
    const runs = new PageRuns()
    const drawn = () => runs.drawn.map(({ id }) => id).join('')
    runs.take({ runs: 'abcdefghij'.split('').map((id) => newBoard(id).whole()) })
    expect(drawn()).to.equal('cdefghij')
    expect(runs.drawn).to.include(runs.focused)
    expect(new Set(runs.drawn.map((run) => runs.colourOf(run))).size).to.equal(8)
    // A folder of logs is followed on.
    runs.draw('c', true)
    runs.draw('e', false)
    runs.take({ runs: [newBoard('k').whole()] })
    expect(drawn()).to.equal('cdfghijk')
    const training = newBoard('b')
    training.take(startedWith(1), BEGAN)
    runs.take({ runs: [training.whole()] })
    expect([runs.focused!.id, drawn()]).to.deep.equal(['b', 'bcdfghijk'])
  })

  it('forgets the runs that the server has left for newer ones; the others keep their numbers and colours', () => {
    const runs = new PageRuns()
    const update = (ids: string) => ({ ids: ids.split(''), runs: ids.split('').map((id) => newBoard(id).whole()) })
    runs.take(update('abc'))
    runs.focus('a')
    const [, , c] = runs.all
    const [title, colour] = [runs.titleOf(c!), runs.colourOf(c!)]
    for (const ids of ['bcd', 'cde']) runs.take(update(ids))
    expect(runs.all.map(({ id }) => id).join('')).to.equal('cde')
    expect(runs.focused!.id).to.equal('e')
    expect([runs.titleOf(c!), runs.colourOf(c!)]).to.deep.equal([title, colour])
    expect(runs.titleOf(runs.focused!)).to.match(/^4: /)
    runs.take({ runs: [newBoard('c').whole()] })
    expect(runs.all).to.have.length(3)
  })
})
