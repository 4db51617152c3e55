/**
 * Draws docs/pictures/dashboard.png, the picture of docs/dashboard.md: `node dist/test/dashboard/make-picture.js`. It shows a run that trains, once it is
 * half done: four learners, of which one dies and is replaced. Takes half a minute on an idle machine; other work shows in the curves.
 */
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { train } from '../../src/index.js'
import { awaitText, launchBrowser, openPage } from './support/browser.js'
import { mortal } from './support/mortal.js'

const OUT = fileURLToPath(new URL('../../../docs/pictures/dashboard.png', import.meta.url))

const browser = await launchBrowser()
if (browser === undefined) throw new Error('Chromium is not installed (apt-get install chromium)')
const job = train({ model: 'lenet', data: 'digits', learners: 4, learner: mortal(3000), until: { epochs: 72 }, seed: 3, dashboard: true })
try {
  const { page } = await openPage(browser, (await job.dashboard)!)
  await page.setViewport({ width: 1360, height: 900 })
  await awaitText(page, '#progressed', /^5\d%/)
  const picture = await page.screenshot({ fullPage: true })
  await sharp(picture).png({ palette: true, colours: 64, effort: 10 }).toFile(OUT)
} finally {
  job.stop()
  await job.finished
  await browser.close()
}
