import { expect } from 'chai'
import { join } from 'node:path'
import { Folder } from '../data/support/files.js'
import { start } from './support/arbalest.js'
import { FewDigits } from './support/few-digits.js'
import { killedRun, undisturbedHash, WRITTEN } from './support/killed-run.js'

const few = await FewDigits.make()
after(() => few[Symbol.asyncDispose]())

describe('arbalest train, killed and started again', function () {
  this.timeout(120_000)
  let folder: Folder
  before(async () => (folder = await Folder.make()))
  after(() => folder[Symbol.asyncDispose]())

  it('ends with the weights of an undisturbed run', async () => {
    const moments = [{ wait: 300 }, { said: WRITTEN, wait: 0 }, { said: WRITTEN, wait: 50 }]
    const { hash } = await killedRun(join(folder.path, 'killed'), moments)
    expect(hash).to.equal(await undisturbedHash())
  })

  it('keeps what was trained where it is told to end, also while it measures', async () => {
    const dir = join(folder.path, 'ended')
    const command = ['train', '--model', 'mlp', ...few.flags, '--learners', '2', '--batch', '8', '--epochs', '100000']
    for (const said of ['"progress"', '"evaluated"']) {
      const { child, ended, said: hears } = start([...command, '--checkpoint-dir', dir, '--json'])
      await hears(said)
      child.kill('SIGTERM')
      const { code, lines } = await ended
      expect(code).to.equal(143)
      const { iterations } = lines.at(-1) as { iterations: number }
      expect(lines.findLast(({ event }) => event === 'checkpoint')).to.include({ iteration: iterations, reason: null })
    }
  })
})
