import { expect } from 'chai'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Dashboard } from '../../src/dashboard/dashboard.js'
import { MOST_VIEWERS } from '../../src/dashboard/viewers.js'
import { rejection } from '../support/rejection.js'
import { BEGAN, newBoard, progressAt, sourceOf, startedWith } from './support/board.js'
import { Stream } from './support/client.js'
import { HOSTILE_KINDS, sendHostile } from './support/hostile.js'

describe('the dashboard', () => {
  const board = newBoard()
  let dashboard: Dashboard
  before(async () => {
    board.take(startedWith(2), BEGAN)
    dashboard = await Dashboard.open(sourceOf(board))
  })
  after(() => dashboard.close())

  it('serves its page, and all that the page names, to those who have its address', async () => {
    const page = await fetch(dashboard.url)
    expect(page.status).to.equal(200)
    const html = await page.text()
    const named = [...html.matchAll(/(?:href|src)="([^"#]+)"/g)].map((match) => match[1]!)
    expect(named).to.include.members(['main.js', 'page.css', 'uplot.css', 'icon.svg'])
    const scripts = new Set(['main.js'])
    for (const script of scripts) {
      const text = await (await fetch(new URL(script, dashboard.url))).text()
      for (const match of text.matchAll(/from ["']\.\/([^"']+)["']/g)) scripts.add(match[1]!)
    }
    expect([...scripts]).to.include('uplot.js')
    for (const name of [...named, ...scripts]) {
      const file = await fetch(new URL(name, dashboard.url))
      expect(file.status, name).to.equal(200)
      // The comments of uPlot name addresses; the test in Chromium sees that none is asked for.
      if (name !== 'uplot.js') expect(await file.text(), name).to.not.match(/https?:\/\/(?!www\.w3\.org)/)
    }
  })

  it('leads to its page from the address without the last slash, where none of its files are', async () => {
    const page = await fetch(dashboard.url.slice(0, -1))
    expect(page.url).to.equal(dashboard.url)
    expect(page.status).to.equal(200)
  })

  it('forbids everything from elsewhere: scripts, styles, frames, guesses, caches', async () => {
    const { headers } = await fetch(dashboard.url)
    const policy = headers.get('content-security-policy')!
    expect(policy).to.include("default-src 'none'").and.include("script-src 'self'").and.include("frame-ancestors 'none'")
    expect(policy).to.not.match(/unsafe|\*|http/)
    expect(headers.get('cache-control')).to.equal('no-store')
    expect(headers.get('referrer-policy')).to.equal('no-referrer')
    expect(headers.get('x-content-type-options')).to.equal('nosniff')
    expect(headers.get('access-control-allow-origin')).to.equal(null)
  })

  it('has another secret each time, of 256 bits', async () => {
    const other = await Dashboard.open(sourceOf(board))
    const secretOf = ({ url }: Dashboard) => new URL(url).pathname
    expect(secretOf(other))
      .to.match(/^\/[\w-]{43}\/$/)
      .and.not.equal(secretOf(dashboard))
    other.close()
  })

  it('streams everything first, then changes, at most four times a second, and tells the end', async () => {
    const own = newBoard()
    own.take(startedWith(2), BEGAN)
    const shown = await Dashboard.open(sourceOf(own))
    const stream = new Stream(shown.url)
    const first = await stream.next()
    expect((first!['runs'] as { id: string; facts: { model: string } }[])[0]).to.deep.include({ id: 'run 1' })
    const began = performance.now()
    const messages: Record<string, unknown>[] = []
    const end = began + 1_000
    for (let i = 1; performance.now() < end; i++) {
      own.take(progressAt(i), BEGAN + i)
      await sleep(1)
    }
    shown.close()
    for (let message = await stream.next(); message; message = await stream.next()) messages.push(message)
    expect(messages.length).to.be.within(2, 6)
    expect(messages.at(-1)).to.include({ over: true })
    expect(stream.isClosed).to.equal(true)
  })

  it('tells every page once which runs there are, when others take their places', async () => {
    const boards = ['a', 'b'].map((id) => newBoard(id))
    const shown = await Dashboard.open({ boards, look: async () => {} })
    const early = new Stream(shown.url)
    expect((await early.next())!['ids']).to.deep.equal(['a', 'b'])
    boards.splice(0, 1)
    boards.push(newBoard('c'))
    const late = new Stream(shown.url)
    expect((await late.next())!['ids']).to.deep.equal(['b', 'c'])
    expect((await early.next())!['ids']).to.deep.equal(['b', 'c'])
    boards[0]!.take(progressAt(1), BEGAN)
    expect(await early.next()).to.not.have.property('ids')
    shown.close()
  })

  it('sends nothing to a board that nobody watches, and looks at nothing', async () => {
    let looks = 0
    const shown = await Dashboard.open({ boards: [board], look: async () => void looks++ })
    await sleep(600)
    expect(looks).to.equal(0)
    const stream = new Stream(shown.url)
    await stream.next()
    await sleep(700)
    expect(looks).to.be.within(1, 4)
    stream.close()
    await sleep(600)
    const before = looks
    await sleep(600)
    expect(looks).to.equal(before)
    shown.close()
  })

  it('drops a reader that does not read, and serves the others', async () => {
    const own = newBoard()
    own.take(startedWith(2), BEGAN)
    const shown = await Dashboard.open(sourceOf(own))
    const [slow, quick] = [new Stream(shown.url), new Stream(shown.url)]
    await Promise.all([slow.next(), quick.next()])
    expect(shown.viewers).to.equal(2)
    slow.pause()
    const received: unknown[] = []
    void (async () => {
      for (let message = await quick.next(); message; message = await quick.next()) received.push(message)
    })()
    for (let i = 0; shown.viewers === 2 && i < 400; i++) {
      // More than the buffers of the system and the stream hold, in few messages.
      for (let j = 0; j < 200; j++) own.take({ event: 'warning', message: `${i} ${'x'.repeat(10_000)}` }, BEGAN + i)
      await sleep(50)
    }
    expect(shown.viewers).to.equal(1)
    expect(quick.isClosed).to.equal(false)
    const before = received.length
    own.take({ event: 'warning', message: 'more' }, BEGAN)
    while (received.length === before) await sleep(50)
    shown.close()
  }).timeout(60_000)

  it('takes a limited number of pages', async () => {
    const shown = await Dashboard.open(sourceOf(board))
    const streams = Array.from({ length: MOST_VIEWERS }, () => new Stream(shown.url))
    await Promise.all(streams.map((stream) => stream.next()))
    expect((await fetch(new URL('events', shown.url))).status).to.equal(503)
    for (const stream of streams) stream.close()
    shown.close()
  })

  it('closes connections that send nothing, and holds few of them', async () => {
    const port = Number(new URL(dashboard.url).port)
    const ends = Array.from(
      { length: 80 },
      () =>
        new Promise<void>((resolve) =>
          connect(port, '127.0.0.1')
            .on('error', () => {})
            .on('close', () => resolve())
        )
    )
    await Promise.all(ends)
    expect((await fetch(dashboard.url)).status).to.equal(200)
  }).timeout(30_000)

  it('serves none of some hundred hostile requests', async () => {
    const { sent, served, answers } = await sendHostile(dashboard.url, { requests: 400, seed: 1 })
    expect(served).to.deep.equal([])
    expect(Object.keys(sent)).to.have.members(HOSTILE_KINDS)
    expect(Object.keys(answers)).to.include.members(['403', '404', '405'])
    expect((await fetch(dashboard.url)).status).to.equal(200)
  }).timeout(60_000)

  it('names the port that cannot be had', async () => {
    const port = Number(new URL(dashboard.url).port)
    const error = (await rejection(Dashboard.open(sourceOf(board), { port }))) as Error
    expect(error).to.include({ code: 'INVALID_OPTION' })
    expect(error.message).to.match(new RegExp(`^dashboard\\.port: received ${port}; .*EADDRINUSE.*: use another port`))
  })
})
