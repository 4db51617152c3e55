import { expect } from 'chai'
import { spawnSync } from 'node:child_process'

const INDEX = new URL('../../src/index.js', import.meta.url).href

/** Trains by the fake timers of node:test, with these parts of them; nothing ever advances them. */
const training = (apis: readonly string[]) => `
  import { mock } from 'node:test'
  const { train } = await import(${JSON.stringify(INDEX)})
  mock.timers.enable({ apis: ${JSON.stringify(apis)} })
  const job = train({ model: 'mlp', data: 'digits', learners: 2, until: { steps: 20 }, seed: 1, onStep: () => {} })
  console.log((await job.finished).reason)
  process.exit()`

describe('a run in a test with fake timers', function () {
  this.timeout(60_000)

  for (const apis of [['setImmediate'], ['setTimeout', 'setInterval', 'setImmediate', 'Date']])
    it(`ends, though no time passes: ${apis.join(', ')}`, () => {
      const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', training(apis)], {
        encoding: 'utf8',
        timeout: 20_000
      })
      expect(stdout, stderr).to.include('completed')
    })
})
