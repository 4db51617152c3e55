import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

describe('the guide to learners', () => {
  it('has a learner and a job that train', () => {
    const guide = readFileSync(join(ROOT, 'docs/write-a-learner.md'), 'utf8')
    const [learner, job] = [...guide.matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code!) as [string, string]
    // Inside the package, where its own name leads to what is built.
    const folder = mkdtempSync(join(ROOT, 'dist/guide-'))
    try {
      writeFileSync(join(folder, 'mine.js'), learner)
      writeFileSync(join(folder, 'train.js'), job)
      const { stdout, stderr, status } = spawnSync(process.execPath, ['train.js'], { cwd: folder, encoding: 'utf8', timeout: 60_000 })
      expect(status, stderr).to.equal(0)
      expect(stdout).to.match(/^test accuracy 0\.\d+\n$/)
      expect(Number(/[\d.]+/.exec(stdout)![0])).to.be.greaterThan(0.5)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
