import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'puppeteer-core'
import { train } from '../../src/run/train.js'
import { Dashboard } from '../../src/dashboard/dashboard.js'
import type { RunBoard } from '../../src/dashboard/run-board.js'
import type { Job } from '../../src/run/job.js'
import { FewDigits } from '../cli/support/few-digits.js'
import { ifSeldom } from '../support/seldom.js'
import { BEGAN, FINISHED, look, newBoard, progressAt, sourceOf, startedWith } from './support/board.js'
import { awaitText, openBrowser, openPage, textOf } from './support/browser.js'

/** The rules of WCAG that a program can check, and those of good practice. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const SLOW_LEARNER = new URL('../fakes/slow-learner.js', import.meta.url)

describe('the dashboard for everyone', function () {
  this.timeout(120_000)
  let browser: Browser
  let digits: FewDigits
  let job: Job
  let url: string
  before(async function () {
    browser = await openBrowser(this)
    digits = await FewDigits.make()
    const { directory: dataDir } = digits
    // Long enough for a page to be looked at, and all parts of it have something to show.
    const run = { model: 'mlp', data: 'mnist', dataDir, learners: 2, devices: 2, until: { epochs: 100_000 } } as const
    job = train({ ...run, learner: SLOW_LEARNER, dashboard: true })
    url = (await job.dashboard)!
  })
  after(async () => {
    job?.stop()
    await job?.finished
    await browser?.close()
    await digits?.[Symbol.asyncDispose]()
  })

  for (const [scheme, width] of [
    ['light', 1280] as const,
    ['dark', 390] as const,
    ...ifSeldom(['light', 390] as const, ['dark', 1280] as const)
  ])
    it(`breaks no rule of axe in ${scheme} colours, ${width} pixels wide`, async () => {
      const { page } = await openPage(browser, url)
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      await page.setViewport({ width, height: 900 })
      await awaitText(page, '#progressed', /iteration [1-9]/)
      await page.evaluate(`for (const each of document.querySelectorAll('details')) each.open = true`)
      await awaitText(page, '#lanes-table', /training/)
      expect(await violations(page)).to.deep.equal([])
      await page.close()
    })

  for (const scheme of ['dark' as const, ...ifSeldom('light' as const)])
    it(`breaks no rule of axe in any state of a run, in ${scheme} colours`, async () => {
      const dashboard = await Dashboard.open(sourceOf(...runsInAllStates()))
      const { page } = await openPage(browser, dashboard.url)
      try {
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
        const found: string[] = []
        for (const [i, state] of STATES.entries()) {
          await page.focus(`#focus-${i}`)
          await page.keyboard.press('Enter')
          await awaitText(page, '#state', new RegExp(`^${state}$`))
          found.push(...(await violations(page)).map((violation) => `${state}: ${violation}`))
        }
        expect(found).to.deep.equal([])
      } finally {
        await page.close()
        dashboard.close()
      }
    })

  it('is walked through with the keyboard alone, with a mark on what has the focus', async () => {
    const { page } = await openPage(browser, url)
    await awaitText(page, '#progressed', /iteration [1-9]/)
    const reached: string[] = []
    const unmarked: string[] = []
    for (;;) {
      await page.keyboard.press('Tab')
      const { name, marked } = (await page.evaluate(FOCUS)) as { name: string; marked: boolean }
      if (name === '') break
      reached.push(name)
      if (!marked) unmarked.push(name)
    }
    expect(reached[0]).to.equal('Skip to the curves')
    expect(reached).to.include('iteration').and.include('Learners as a table')
    expect(reached.filter((name) => /as a table/i.test(name)).length).to.be.above(3)
    expect(unmarked).to.deep.equal([])

    // What is reached can be used.
    await page.focus('#lanes-table-toggle')
    await page.keyboard.press('Enter')
    expect(await page.$eval('#lanes-table', (table) => (table as unknown as { checkVisibility(): boolean }).checkVisibility())).to.equal(
      true
    )
    await page.focus('input[name=along]')
    await page.keyboard.press('ArrowDown')
    expect(await page.$eval('input[name=along]:checked', (input) => (input as unknown as { value: string }).value)).to.equal('seconds')
    expect(await textOf(page, '#connection')).to.match(/live/)
    await page.close()
  })
})

const STATES = ['preparing', 'training', 'paused', 'completed', 'stopped', 'failed', 'interrupted'] as const

/** A run in each state, with a list of what happened that is longer than its card. */
function runsInAllStates(): readonly RunBoard[] {
  return STATES.map((state) => {
    const board = newBoard(state)
    if (state === 'preparing') return board
    board.take(
      { event: 'run', options: { learners: 2, population: { tuning: { most: 6 } } }, versions: { arbalest: '0', node: '0' } },
      BEGAN
    )
    board.take(startedWith(2), BEGAN)
    board.take(progressAt(10), BEGAN + 10)
    for (let i = 0; i < 10; i++) board.take({ event: 'warning', message: 'the samples are repeated' }, BEGAN + i)
    const figures = { round: 3, iteration: 6, iterations: 1000, reason: 'measured', figures: [] }
    for (let i = 0; i < 10; i++) board.take({ event: 'population', action: 'try', from: 2, to: 2, ...figures }, BEGAN + i)
    const lost = { learner: 1, rank: 1, reason: 'it threw', code: null, round: 7, iteration: 14, replacedBy: 2, vacant: false }
    board.take({ event: 'learnerLost', ...lost }, BEGAN + 10)
    board.look(look(), BEGAN + 11)
    if (state === 'paused') board.look({ ...look(), status: { ...look().status, paused: true } }, BEGAN + 12)
    if (state === 'completed' || state === 'stopped') board.take({ ...FINISHED, reason: state }, BEGAN + 12)
    if (state === 'failed') board.take({ event: 'failed', code: 'INTERNAL', message: 'all of it' }, BEGAN + 12)
    if (state === 'interrupted') board.interrupt()
    return board
  })
}

/** What has the focus, and whether it is seen to have it: by its outline, or its label's. Each element once. */
const FOCUS = `(() => {
  const at = document.activeElement
  const seen = (window.seen ??= new Set())
  if (!at || at === document.body || seen.has(at)) return { name: '', marked: true }
  seen.add(at)
  const name = at.value && at.tagName === 'INPUT' ? at.value : (at.getAttribute('aria-label') ?? at.textContent.trim())
  const marked = [at, at.closest('label')].some((each) => each && getComputedStyle(each).outlineStyle !== 'none')
  return { name, marked }
})()`

/** Each with its rule and the first element that breaks it. The page's policy allows no script of others: axe goes in by the debugger. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const found = (await page.evaluate(`axe.run(document, { resultTypes: ['violations'] })`)) as {
    readonly violations: readonly {
      readonly id: string
      readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
    }[]
  }
  return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`))
}
