import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Browser, Page } from 'puppeteer-core'
import { Dashboard } from '../../src/dashboard/dashboard.js'
import type { RunBoard } from '../../src/dashboard/run-board.js'
import { MOST_VIEWERS } from '../../src/dashboard/viewers.js'
import type { Job } from '../../src/run/job.js'
import { train } from '../../src/run/train.js'
import { BEGAN, look, newBoard, progressAt, sourceOf, startedWith } from './support/board.js'
import { Stream } from './support/client.js'
import { awaitText, awaitTrue, elementAt, openBrowser, openPage, textOf } from './support/browser.js'
import { mortal } from './support/mortal.js'

describe('the dashboard in Chromium', function () {
  this.timeout(120_000)
  let browser: Browser
  before(async function () {
    browser = await openBrowser(this)
  })
  after(() => browser?.close())

  let job: Job | undefined
  const dashboards: Dashboard[] = []
  const openDashboard = async (...boards: RunBoard[]): Promise<Dashboard> => {
    const dashboard = await Dashboard.open(sourceOf(...boards))
    dashboards.push(dashboard)
    return dashboard
  }
  // Whatever a test comes to: none of it may outlive the test.
  afterEach(async () => {
    for (const dashboard of dashboards.splice(0)) dashboard.close()
    job?.stop()
    await job?.finished
    job = undefined
  })

  it('shows a run that trains: live curves, a learner that dies and its successor, after a reload too, and in two browsers', async () => {
    job = train({ model: 'mlp', data: 'digits', learners: 2, learner: mortal(150, 5), until: { epochs: 100_000 }, dashboard: true })
    const url = (await job.dashboard)!
    const first = await openPage(browser, url)
    const { page } = first
    const before = iterationOf(await awaitText(page, '#progressed', /iteration [1-9]/))
    while (iterationOf(await textOf(page, '#progressed')) <= before) await sleep(100)
    await awaitText(page, '#lesson-steps', /drawn a part α = 0\.5 of the way/)
    await awaitText(page, '#happened', /Learner 1 was lost in round \d+.*told to die.*Learner 2 takes its place/)
    await awaitText(page, '#figures', /1 died/)
    // By the keyboard: what lies above it grows while the run trains, so that it may move away from under a mouse.
    await page.focus('#lanes-table-toggle')
    await page.keyboard.press('Enter')
    await awaitText(page, '#lanes-table', /1\s*2\s*training/)
    expect(await paintedIn(page, '#lanes')).to.be.above(3)
    expect((await page.$$('.chart-plot canvas')).length).to.be.above(3)

    await page.reload({ waitUntil: 'domcontentloaded' })
    const second = await openPage(browser, url)
    for (const each of [page, second.page]) {
      await awaitText(each, '#happened', /Learner 1 was lost/)
      await awaitText(each, '#connection', /live/)
    }
    job.stop()
    await job.finished
    for (const each of [page, second.page]) {
      await awaitText(each, '#connection', /ended/)
      await awaitText(each, '#state', /^stopped$/)
      await awaitText(each, '#said', /^mlp on digits, stopped: iteration [1-9]/)
      await awaitText(each, 'title', /^stopped: mlp on digits – Arbalest$/)
      // The numbers of its last look are not those of its end.
      expect(await textOf(each, '#orbit-said')).to.equal('')
    }
    expect([...first.faults, ...second.faults]).to.deep.equal([])
  })

  it('holds memory flat while it gets 1,000 points a second, for as many points as an hour has', async () => {
    const board = newBoard()
    board.take(startedWith(2), BEGAN)
    const dashboard = await openDashboard(board)
    const { page, faults } = await openPage(browser, dashboard.url)
    let points = 0
    const feed = async (count: number, each: number) => {
      for (const end = points + count; points < end; await sleep(each === 10 ? 10 : 0))
        for (let i = 0; i < each; i++) board.take(progressAt(++points), BEGAN + points / 1000)
    }
    // For two seconds as fast as it would be, and then the rest of the hour.
    await feed(2_000, 10)
    await awaitText(page, '#progressed', /iteration [1-9]/)
    await feed(50_000, 5_000)
    await sleep(600)
    const before = await heapOf(page)
    await feed(3_550_000, 25_000)
    await sleep(600)
    const after = await heapOf(page)
    await awaitText(page, '#progressed', new RegExp(`iteration ${points.toLocaleString('en-US')}`))
    expect(after - before).to.be.below(2e6)
    expect(faults).to.deep.equal([])
  })

  it('draws a gap where a run has no value or has ended, and none where only the other run has a point', async () => {
    const [faulty, whole] = ['faulty', 'whole'].map((id) => newBoard(id)) as [RunBoard, RunBoard]
    for (const board of [faulty, whole]) board.take(startedWith(1), BEGAN)
    const missing = [40, 50, 60, 80, 100]
    for (let t = 10; t <= 110; t += 10) faulty.take(progressAt(t, missing.includes(t) ? NaN : 1), BEGAN + t)
    for (let t = 1; t <= 200; t += 2) whole.take(progressAt(t, 2), BEGAN + t)
    const dashboard = await openDashboard(faulty, whole)
    const { page, faults } = await openPage(browser, dashboard.url)
    await awaitTrue(page, `${elementAt('#charts .u-over')}?.clientWidth > 100`)
    const isDrawn = async (series: number, places: readonly number[]) =>
      Object.fromEntries(await Promise.all(places.map(async (place) => [place, await hasInk(page, `--series-${series}`, place / 199)])))
    const expected = { 25: true, 35: false, 45: false, 55: false, 65: false, 75: false, 90: true, 95: false, 105: false, 150: false }
    expect(await isDrawn(0, Object.keys(expected).map(Number))).to.deep.equal(expected)
    expect(await isDrawn(1, [25, 50, 60, 120, 150])).to.deep.equal({ 25: true, 50: true, 60: true, 120: true, 150: true })

    const { x, y, width, height } = (await (await page.$('#charts .u-over'))!.boundingBox())!
    const told = async (place: number) => {
      await page.mouse.move(x + (width * place) / 199, y + height / 2)
      return textOf(page, '#charts .heading')
    }
    await page.evaluate(`scrollTo(0, 0)`)
    expect(await told(21)).to.match(/^Lossiteration 21.* training 1\.000.* training 2\.000/)
    expect(await told(51)).to.match(/^Lossiteration 51.* training –.* training 2\.000/)
    expect(await told(151)).to.match(/^Lossiteration 151.* training –.* training 2\.000/)
    // Every chart along the same tells of this place, and nothing has moved under the cursor.
    await awaitText(page, '#charts article:nth-of-type(4) .heading', /^Samples per seconditeration 151/)
    expect((await (await page.$('#charts .u-over'))!.boundingBox())!.y).to.equal(y)
    expect(faults).to.deep.equal([])
  })

  it('shows of many runs the curves of the newest, and the one in its header that all is shown of', async () => {
    const boards = Array.from({ length: 20 }, (_, i) => newBoard(`run ${i} of many that are told apart`))
    for (const board of boards) {
      board.take(startedWith(1), BEGAN)
      board.take(progressAt(10), BEGAN + 10)
      board.take({ event: 'failed', code: 'INTERNAL', message: 'all of it' }, BEGAN + 11)
    }
    const dashboard = await openDashboard(...boards)
    const { page, faults } = await openPage(browser, dashboard.url)
    const isSeen = (id: string) => `(() => {
      const [chip, group] = ['#focus-${id}', '#runs'].map((each) => document.querySelector(each)?.getBoundingClientRect())
      return chip && chip.top >= group.top && chip.bottom <= group.bottom && chip.left >= group.left && chip.right <= group.right
    })()`
    for (const width of [1280, 390]) {
      await page.setViewport({ width, height: 900 })
      await page.reload({ waitUntil: 'domcontentloaded' })
      await awaitText(page, '#title', /^19: /)
      await awaitTrue(page, isSeen('19'))
      expect(await page.evaluate(`document.querySelectorAll('#runs input:checked').length`)).to.equal(8)
      expect(await textOf(page, '#charts .readout')).to.match(/12: .*19: /)
      expect(await page.evaluate(isSeen('0'))).to.equal(false)
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).to.equal(true)
    }
    await page.focus('#focus-2')
    await page.keyboard.press('Enter')
    await awaitText(page, '#title', /^2: /)
    await awaitTrue(page, isSeen('2'))
    expect(faults).to.deep.equal([])
  })

  it('says since when a run does not answer whose process was killed, and keeps what it has got', async () => {
    const args = ['train', '--no-config', '--model', 'mlp', '--learners', '1', '--epochs', '100000', '--dashboard', '--json']
    const program = fileURLToPath(new URL('../../../bin/arbalest.js', import.meta.url))
    const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'ignore'] })
    try {
      let said = ''
      for await (const chunk of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
        said += chunk
        if (said.includes('\n')) break
      }
      child.stdout.resume()
      const { url } = JSON.parse(said.split('\n')[0]!) as { url: string }
      const { page } = await openPage(browser, url)
      await awaitText(page, '#progressed', /iteration [1-9]/)
      child.kill('SIGKILL')
      await awaitText(page, '#connection', /^no answer since \d+:\d\d:\d\d.*: connecting again$/)
      expect(await textOf(page, '#progressed')).to.match(/iteration [1-9]/)
    } finally {
      child.kill('SIGKILL')
    }
  })

  it('says why it shows nothing where too many pages watch the run', async () => {
    const dashboard = await openDashboard(newBoard())
    const streams = Array.from({ length: MOST_VIEWERS }, () => new Stream(dashboard.url))
    await Promise.all(streams.map((stream) => stream.next()))
    const { page } = await openPage(browser, dashboard.url)
    await awaitText(page, '#connection', /^too many pages watch this run: close one, and reload$/)
    for (const stream of streams) stream.close()
    await page.reload()
    await awaitText(page, '#connection', /^live$/)
  })

  it('shows of a run what it has: no tuner without a search, errors instead of an accuracy, colours that are there', async () => {
    const board = newBoard('table', { isLive: false })
    const tuning = { most: 6 }
    board.take({ event: 'run', options: { learners: 2 }, versions: { arbalest: '0', node: '0' } }, BEGAN)
    board.take({ ...startedWith(2), model: 'mlp' }, BEGAN + 1)
    for (let t = 10; t <= 100; t += 10) board.take(progressAt(t), BEGAN + t)
    const dashboard = await openDashboard(board)
    const { page, faults } = await openPage(browser, dashboard.url)
    const isShown = (title: string) =>
      page.evaluate(
        `[...document.querySelectorAll('.card h2')].filter((each) => each.textContent.startsWith(${JSON.stringify(title)}) && each.checkVisibility()).length === 1`
      )
    await awaitText(page, '#connection', /^live$/)
    await awaitText(page, '#progressed', /iteration 100/)
    expect(await isShown('Test accuracy')).to.equal(true)
    expect(await textOf(page, '#lanes-legend')).to.equal('training, shares not recorded')
    expect(await hasInk(page, '--training', 0.8, '#lanes')).to.equal(true)
    expect([await isShown('Decisions of the tuner'), await isShown('Distance')]).to.deep.equal([false, false])

    const measured = { event: 'evaluated', epoch: 1, testLoss: 0.002, testAccuracy: null, seconds: 1 } as const
    board.take({ ...measured, iteration: 90 }, BEGAN + 90)
    await awaitText(page, '#figures', /test loss0\.00200samples/)
    board.take({ ...measured, iteration: 95, testMetrics: { mae: 4100 } }, BEGAN + 95)
    await awaitText(page, '#figures', /test loss0\.00200mean absolute error4,100samples/)
    board.take({ ...measured, iteration: 100, testMetrics: { r2: 0.9982, mae: 4032.3 } }, BEGAN + 100)
    board.take({ event: 'failed', code: 'LOSS_NOT_FINITE', message: 'it diverged' }, BEGAN + 101)
    await awaitText(page, '#figures', /test R²0\.998mean absolute error4,032/)
    await awaitText(page, '#connection', /^ended$/)
    await awaitText(page, '#happened [data-kind=failed]', /LOSS_NOT_FINITE/)
    expect([await isShown('Test accuracy'), await isShown('Test R²')]).to.deep.equal([false, true])

    board.take({ event: 'run', options: { learners: 2, population: { tuning } }, versions: { arbalest: '0', node: '0' } }, BEGAN + 102)
    await awaitTrue(page, `!${elementAt('#tuner')}.parentElement.hidden`)
    expect(faults).to.deep.equal([])
  })

  it('says whose distances its chart leaves out', async () => {
    const [few, many] = [8, 12].map((learners) => {
      const board = newBoard(`${learners}`, { isLive: false })
      board.take(startedWith(learners), BEGAN)
      return board
    }) as [RunBoard, RunBoard]
    const dashboard = await openDashboard(few, many)
    const { page, faults } = await openPage(browser, dashboard.url)
    const hint = '#charts article:nth-of-type(5) .hint'
    await awaitText(page, hint, /Those of the first 8 of 12 places: the table of the learners has all\.$/)
    await page.focus('#focus-0')
    await page.keyboard.press('Enter')
    await awaitText(page, hint, /as the learning rate falls\.$/)
    expect(faults).to.deep.equal([])
  })

  it('shows the learners that there are, and not those that have gone', async () => {
    const board = newBoard()
    board.take(startedWith(4), BEGAN)
    const distances = [1, 2, 30, 40]
    const measured = (learners: number, round: number) => {
      const members = distances.slice(0, learners).map((distance, learner) => ({ learner, distance, waited: 0 }))
      return look({
        learners,
        round,
        rounds: [{ round, iteration: round, began: round, seconds: round + 1, averaged: 0, loss: 1, members }]
      })
    }
    board.look(measured(4, 1), BEGAN + 1)
    const dashboard = await openDashboard(board)
    const { page, faults } = await openPage(browser, dashboard.url)
    await awaitText(page, '#orbit-said', /^Round 1: 4 learners, on average 18\.25 from the central model\.$/)
    board.look(measured(2, 2), BEGAN + 2)
    await awaitText(page, '#orbit-said', /^Round 2: 2 learners, on average 1\.500 from the central model\.$/)
    expect(await page.evaluate(`document.querySelectorAll('.orbit-learner').length`)).to.equal(2)
    expect(await textOf(page, '#charts article:nth-of-type(5) .readout')).to.equal('place 0 1.000place 1 2.000place 2 –place 3 –')
    await page.focus('#lanes-table-toggle')
    await page.keyboard.press('Enter')
    await awaitText(page, '#lanes-table', /2–vacant––––03–vacant––––0$/)
    expect(faults).to.deep.equal([])
  })

  it('tells a screen reader at once how a run of a log has ended, and of which run it tells', async () => {
    const boards = ['a', 'b'].map((id) => newBoard(id, { isLive: false })) as [RunBoard, RunBoard]
    for (const board of boards) {
      board.take({ ...startedWith(1), model: `model ${board.id}` }, BEGAN)
      board.take(progressAt(10), BEGAN + 10)
    }
    const dashboard = await openDashboard(...boards)
    const { page, faults } = await openPage(browser, dashboard.url)
    await awaitText(page, '#said', /^model b on digits, b, training: iteration 10/)
    await page.focus('#focus-0')
    await page.keyboard.press('Enter')
    await awaitText(page, '#said', /^model a on digits, a, training: iteration 10/)
    boards[0].take({ event: 'failed', code: 'INTERNAL', message: 'all of it' }, BEGAN + 11)
    await awaitText(page, '#said', /^model a on digits, a, failed: iteration 10/)
    expect(faults).to.deep.equal([])
  })

  it('says of a run that is prepared that its learners are not known, and not that it has none', async () => {
    const board = newBoard()
    const dashboard = await openDashboard(board)
    const { page, faults } = await openPage(browser, dashboard.url)
    await awaitText(page, '#levels', /^Not known yet\.$/)
    expect(await textOf(page, '#figures')).to.match(/learners–/)
    board.take(startedWith(2), BEGAN)
    await awaitText(page, '#levels', /Device 0: 2 learners/)
    expect(await textOf(page, '#figures')).to.match(/learners2/)
    expect(faults).to.deep.equal([])
  })

  it('draws a curve of many measurements as a line, and one of few with a point at each', async () => {
    const board = newBoard()
    board.take(startedWith(1), BEGAN)
    const measure = (iteration: number) => {
      const measured = { testLoss: 1, testAccuracy: 0.5, seconds: 1 }
      board.take({ event: 'evaluated', iteration, epoch: iteration / 100, ...measured }, BEGAN + iteration)
    }
    for (const iteration of [0, 500, 1_000]) measure(iteration)
    const dashboard = await openDashboard(board)
    const { page, faults } = await openPage(browser, dashboard.url)
    const canvas = '#charts article:nth-of-type(2) canvas'
    // The height of what is drawn at the middle: a point is higher than the line.
    const thickness = () => inkIn(page, '--series-0', 0.5, canvas)
    await awaitTrue(page, `${elementAt('#charts article:nth-of-type(2) .u-over')}?.clientWidth > 100`)
    const [point, line] = [await thickness(), await inkIn(page, '--series-0', 0.25, canvas)]
    expect(point).to.be.above(line)
    for (let iteration = 1_001; iteration <= 2_000; iteration++) measure(iteration)
    board.take(progressAt(2_000), BEGAN + 2_000)
    await awaitText(page, '#progressed', /iteration 2,000/)
    expect(await inkIn(page, '--series-0', 0.75, canvas)).to.equal(line)
    expect(faults).to.deep.equal([])
  })

  it('shows each mark of an axis whole, and apart from the next one, however many iterations a run has', async () => {
    const board = newBoard()
    board.take(startedWith(1), BEGAN)
    for (let i = 1; i <= 100; i++) board.take(progressAt(10_000 * i), BEGAN + 100 * i)
    const dashboard = await openDashboard(board)
    const { page, faults } = await openPage(browser, dashboard.url)
    await awaitTrue(page, `${elementAt('#charts .u-over')}?.clientWidth > 100`)
    for (const along of ['iteration', 'seconds']) {
      await page.evaluate(RECORD_MARKS)
      await page.click(`input[value=${along}]`)
      // Whatever else changes the size of a chart draws it anew.
      for (const width of [1_400, 700, 380]) {
        await page.setViewport({ width, height: 900 })
        await sleep(300)
      }
      const marks = (await page.evaluate('marks')) as readonly Mark[]
      expect(marks.filter(({ text }) => /000,000|:/.test(text))).to.have.length.above(3)
      for (const { text, from, until, width } of marks) expect(until, `${text} from ${from}`).to.be.at.most(width)
      for (const [i, { text, until, line }] of marks.entries()) {
        const next = marks[i + 1]
        if (next?.line === line && next.from > marks[i]!.from) expect(next.from, `${next.text} after ${text}`).to.be.above(until)
      }
    }
    expect(faults).to.deep.equal([])
  })

  it('names its tab while it is in the background, too', async () => {
    const board = newBoard()
    board.take(startedWith(1), BEGAN)
    board.take(progressAt(100), BEGAN + 10)
    const dashboard = await openDashboard(board)
    const { page, faults } = await openPage(browser, dashboard.url)
    await awaitText(page, 'title', /^10% lenet on digits – Arbalest$/)
    const other = await page.browserContext().newPage()
    await other.bringToFront()
    // Asked from here: the timers of a hidden page are slow.
    const until = async (holds: () => Promise<unknown>) => {
      while (!(await holds())) await sleep(50)
    }
    await until(() => page.evaluate('document.hidden'))
    board.take(progressAt(200), BEGAN + 20)
    await until(async () => (await page.title()).startsWith('20% '))
    board.take({ event: 'failed', code: 'INTERNAL', message: 'all of it' }, BEGAN + 21)
    await until(async () => (await page.title()).startsWith('failed: '))
    expect(await textOf(page, '#progressed')).to.match(/^10%/)
    await page.bringToFront()
    await awaitText(page, '#progressed', /^20%/)
    expect(faults).to.deep.equal([])
  })

  it('says of a lane when nobody looked, and when there was no learner', async () => {
    const board = newBoard()
    board.take(startedWith(1), BEGAN)
    for (let second = 1; second <= 40; second++) board.look(look({ learners: second > 20 ? 2 : 1 }), BEGAN + second)
    const dashboard = await openDashboard(board)
    const { page, faults } = await openPage(browser, dashboard.url)
    await awaitText(page, '#lanes-legend', /^training, shares not recorded$/)
    expect(await hasInk(page, '--raised', 0.3, '#lanes')).to.equal(false)
    board.look(look({ learners: 1 }), BEGAN + 41)
    await awaitText(page, '#lanes-legend', /^training, shares not recordedno learner$/)
    for (let second = 80; second < 90; second++) board.look(look({ learners: 2 }), BEGAN + second)
    await awaitText(page, '#lanes-legend', /^training, shares not recordednot watched: no page was openno learner$/)
    expect(await hasInk(page, '--raised', 0.7, '#lanes')).to.equal(true)
    expect(faults).to.deep.equal([])
  })

  it('shows the levels of devices within their machine', async () => {
    const [machine, cluster] = ['machine', 'cluster'].map((id) => newBoard(id)) as [RunBoard, RunBoard]
    const devices = [[0], [1, 2]]
    for (const board of [machine, cluster])
      board.take({ event: 'run', options: { devices: { devices } }, versions: { arbalest: '0', node: '0' } }, BEGAN)
    machine.take(startedWith(2), BEGAN)
    machine.take({ event: 'levels', devices, levels: ['devices', 'hosts'], measured: [], orders: [], reason: 'as given' }, BEGAN)
    cluster.take({ ...startedWith(6), hosts: 3 }, BEGAN)
    const dashboard = await openDashboard(machine, cluster)
    const { page, faults } = await openPage(browser, dashboard.url)
    const names = () => page.$$eval('#levels .level-name', (all) => all.map((each) => each.textContent))
    await awaitText(page, '#levels', /3 hosts/)
    expect(await names()).to.deep.equal(['3 hosts', 'This host', 'Device 0: 1 learner', 'Device 1: 1 learner'])
    await page.focus('#focus-0')
    await page.keyboard.press('Enter')
    await awaitText(page, '#levels', /This machine/)
    const averaged = ['Averaged over hosts', 'Averaged over devices']
    expect(await names()).to.deep.equal(['This machine', ...averaged, 'Device 0: 1 learner, core 0', 'Device 1: 1 learner, cores 1 2'])
    expect(faults).to.deep.equal([])
  })

  it('tells what a step costs that fits into memory only by restoring activations', async () => {
    const [limited, whole] = ['limited', 'whole'].map((id) => newBoard(id)) as [RunBoard, RunBoard]
    limited.take({ ...startedWith(1), recomputedBytes: 85_100_000, movedBytes: 16_300_000, predictedSlowdown: 4.5812 }, BEGAN)
    whole.take(startedWith(1), BEGAN)
    const dashboard = await openDashboard(whole, limited)
    const { page, faults } = await openPage(browser, dashboard.url)
    await awaitText(page, '#memory', /To fit, a step computes 85\.1 MB again and moves 16\.3 MB: 4\.58 times its time, as predicted\.$/)
    await page.focus('#focus-0')
    await page.keyboard.press('Enter')
    await awaitText(page, '#memory', /^Device 0: 43\.0 MB(?!.*To fit)/)
    expect(faults).to.deep.equal([])
  })

  it('names each of several runs by what differs, in the colour of its curves, and fits a telephone', async () => {
    const long = 'a-learner-of-my-own-with-a-name-that-is-far-too-long-for-a-telephone.mjs'
    const boards = ['a', long].map((learner, i) => {
      const board = newBoard(`${i}`)
      board.take({ event: 'run', options: { learner }, versions: { arbalest: '0', node: '0' } }, BEGAN)
      board.take(startedWith(2), BEGAN)
      board.take(progressAt(10), BEGAN + 10)
      return board
    })
    const dashboard = await openDashboard(...boards)
    const { page, faults } = await openPage(browser, dashboard.url)
    await page.setViewport({ width: 390, height: 800 })
    await awaitText(page, '#title', new RegExp(`^1: learner ${long}$`))
    await awaitText(page, '#described', /^lenet on digits, 431,080 parameters/)
    const colours = `['#title', '#charts .swatch'].map((each) => getComputedStyle(document.querySelector(each)).getPropertyValue('--swatch'))`
    expect(await page.evaluate(colours)).to.deep.equal(
      await page.evaluate(`[1, 0].map((i) => getComputedStyle(document.documentElement).getPropertyValue('--series-' + i))`)
    )
    await page.click('#focus-0')
    await awaitText(page, '#title', /^0: learner a$/)
    expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(390)
    expect(faults).to.deep.equal([])
  })

  it('shows several runs side by side, by the keyboard alone, with a table beside each chart, dark and light', async () => {
    const boards = ['a', 'b'].map((id, i) => {
      const board = newBoard(id)
      board.take({ ...startedWith(i + 1), model: `model ${id}` }, BEGAN)
      for (let t = 1; t < 50; t++) board.take(progressAt(t, (i + 1) / t), BEGAN + t)
      const measured = { testLoss: 0.4, testAccuracy: 0.9, testTopK: 0.99, testPerplexity: 1.49 }
      board.take({ event: 'evaluated', iteration: 40, epoch: 1, ...measured, seconds: 1 }, BEGAN + 40)
      return board
    })
    const dashboard = await openDashboard(...boards)
    const { page, faults } = await openPage(browser, dashboard.url)
    await awaitText(page, '#runs', /1: lenet on digits/)
    expect(await textOf(page, '#figures')).to.include('test accuracy90.00%top-k accuracy99.00%test perplexity1.490')
    await page.focus('#focus-0')
    await page.keyboard.press('Enter')
    await page.waitForSelector('#focus-0[aria-pressed=true]')
    expect(await page.evaluate('document.activeElement.id')).to.equal('focus-0')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    await awaitTrue(page, `!${elementAt('#draw-1')}.checked`)
    const charts = await page.$$('#charts article:not([hidden])')
    expect(charts.length).to.equal(3)
    for (const chart of charts) {
      expect(await (await chart.$('[role=img]'))!.evaluate((plot) => plot.getAttribute('aria-label'))).to.match(/^.+: .+/)
      await (await chart.$('summary'))!.focus()
      await page.keyboard.press('Enter')
      expect(await chart.$('details[open]')).to.not.equal(null)
    }
    expect(await textOf(page, '#charts article table')).to.match(/iteration.*49/s)
    expect(await page.$('#said[aria-live=polite]')).to.not.equal(null)
    const grounds = new Set<string>()
    for (const value of ['dark', 'light']) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }])
      grounds.add((await page.evaluate('getComputedStyle(document.body).backgroundColor')) as string)
    }
    expect(grounds.size).to.equal(2)

    await page.click('#draw-1')
    const numbers = { testLoss: 0.4, testAccuracy: null, testMetrics: { r2: 0.5 } }
    boards[1]!.take({ event: 'evaluated', iteration: 45, epoch: 1, ...numbers, seconds: 1 }, BEGAN + 45)
    const legend = `[...document.querySelectorAll('#charts article')].find((each) => each.textContent.startsWith('Test R²')).textContent`
    await awaitTrue(page, `/ on digits 0.500/.test(${legend})`)
    expect(await page.evaluate(legend)).to.not.include('0: lenet')
    expect(faults).to.deep.equal([])
  })
})

function iterationOf(text: string): number {
  return Number(/iteration ([\d,]+)/.exec(text)![1]!.replaceAll(',', ''))
}

/** Whether a canvas, by default the first chart, has a colour at a share of its width. */
async function hasInk(page: Page, colour: string, share: number, canvas?: string): Promise<boolean> {
  return (await inkIn(page, colour, share, canvas)) > 0
}

/** How many pixels of a colour a canvas has at a share of its width. */
function inkIn(page: Page, colour: string, share: number, canvas = '#charts canvas'): Promise<number> {
  return page.evaluate(`(() => {
    const canvas = ${elementAt(canvas)}
    const over = canvas.parentElement.querySelector('.u-over') ?? canvas
    const [inner, outer] = [over, canvas].map((each) => each.getBoundingClientRect())
    const x = Math.round((inner.x - outer.x + inner.width * ${share}) * devicePixelRatio)
    const copy = new OffscreenCanvas(1, canvas.height).getContext('2d', { willReadFrequently: true })
    copy.drawImage(canvas, -x, 0)
    const column = copy.getImageData(0, 0, 1, canvas.height).data
    const style = getComputedStyle(document.documentElement).getPropertyValue('${colour}').trim()
    const wanted = [1, 3, 5].map((at) => parseInt(style.slice(at, at + 2), 16))
    const alike = (at) => column[at + 3] > 100 && wanted.every((part, i) => Math.abs(part - column[at + i]) < 40)
    return Array.from({ length: canvas.height }, (_, row) => 4 * row).filter(alike).length
  })()`) as Promise<number>
}

/** How many colours a canvas has. */
function paintedIn(page: Page, selector: string): Promise<number> {
  const pixels = `canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer`
  return page.evaluate(`((canvas) => new Set(new Uint32Array(${pixels})).size)(${elementAt(selector)})`) as Promise<number>
}

/** Bytes of JavaScript that are reachable. */
async function heapOf(page: Page): Promise<number> {
  await page.evaluate('gc()')
  return (await page.metrics()).JSHeapUsedSize!
}

/** A text along an x axis: where it is on its canvas, of which width, and in which line. */
interface Mark {
  readonly text: string
  readonly from: number
  readonly until: number
  readonly width: number
  readonly line: number
}

/** Keeps each text that is drawn, centred, on a canvas from now on as one of `marks`. */
const RECORD_MARKS = `{
  globalThis.marks = []
  const pen = CanvasRenderingContext2D.prototype
  globalThis.drawText ??= pen.fillText
  pen.fillText = function (text, x, y, ...more) {
    const { width } = this.measureText(text)
    if (this.textAlign === 'center' && this.canvas.closest('.chart-plot') && /\\d/.test(text))
      marks.push({ text, from: x - width / 2, until: x + width / 2, width: this.canvas.width, line: y })
    return drawText.call(this, text, x, y, ...more)
  }
}`
