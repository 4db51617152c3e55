import { existsSync } from 'node:fs'
import { launch, type Browser, type Page } from 'puppeteer-core'
import { skip } from '../../support/skip.js'

const PATHS = [process.env['ARBALEST_CHROMIUM'], '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'] as const

/** Headless Chromium. Skips the test where there is none. */
export async function openBrowser(context: Mocha.Context): Promise<Browser> {
  return (await launchBrowser()) ?? skip(context, 'Chromium is not installed (apt-get install chromium)')
}

/** The same; undefined where there is none. */
export async function launchBrowser(): Promise<Browser | undefined> {
  const executablePath = PATHS.find((path) => path !== undefined && existsSync(path))
  if (executablePath === undefined) return undefined
  // Root, as in a container, has no sandbox.
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--js-flags=--expose-gc']
  return launch({ executablePath, args })
}

/** A page, with all that it complains of and asks of others than `url`. */
export async function openPage(browser: Browser, url: string): Promise<{ readonly page: Page; readonly faults: readonly string[] }> {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => {
    if (['error', 'warn'].includes(message.type())) faults.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) faults.push(`asked for ${request.url()}`)
  })
  await page.setViewport({ width: 1280, height: 900 })
  await page.goto(url, { waitUntil: 'domcontentloaded' })
  return { page, faults }
}

export function textOf(page: Page, selector: string): Promise<string> {
  return page.evaluate(`${elementAt(selector)}?.textContent ?? ''`) as Promise<string>
}

/** Waits until a text of the page fits, and returns it. */
export async function awaitText(page: Page, selector: string, pattern: RegExp): Promise<string> {
  await awaitTrue(page, `${pattern}.test(${elementAt(selector)}?.textContent ?? '')`)
  return textOf(page, selector)
}

/** Waits until an expression is true in the page. A text: this package is compiled without the names of the DOM. */
export async function awaitTrue(page: Page, expression: string): Promise<void> {
  await page.waitForFunction(expression, { timeout: 60_000, polling: 200 })
}

/** The expression of an element. */
export function elementAt(selector: string): string {
  return `document.querySelector(${JSON.stringify(selector)})`
}
