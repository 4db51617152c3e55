import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Folder } from '../data/support/files.js'
import { skip } from '../support/skip.js'
import { start } from './support/arbalest.js'

describe('arbalest repl', function () {
  this.timeout(120_000)

  it('starts a run that is paused, looked at and resumed from its prompt', async () => {
    await using folder = await Folder.make()
    const config = join(folder.path, 'run.ts')
    await writeFile(
      config,
      `import { defineConfig } from 'arbalest'
export default defineConfig({ model: 'mlp', data: 'digits', learners: 2, batch: 8, until: { steps: 100_000_000 }, evaluateEvery: 10_000 })\n`
    )
    const repl = start(['repl', config], { env: { ARBALEST_TOP: 'off' } })
    const type = async (line: string, answer: string) => {
      repl.child.stdin!.write(`${line}\n`)
      await repl.said(answer)
    }
    await type("'rests at ' + (await actors.synchroniser.ask.pause()).round", "'rests at ")
    await type("(await actors.supervisor.ask.population()).places.map(({ state }) => state).join('+')", "'resting+resting'")
    await type("typeof arbalest.train + ' and ' + typeof defineModel", "'function and function'")
    await type("await actors.synchroniser.ask.resume(), 'goes on'", "'goes on'")
    await type('await actors.synchroniser.ask.nothing().catch(({ code }) => code)', "'UNKNOWN_NAME'")
    repl.child.stdin!.end()
    const { code, stdout, stderr } = await repl.ended
    expect(code, stderr).to.equal(0)
    expect(stdout).to.match(/stopped after/)
  })

  it('stops a run of which an asynchronous listener fails that was typed at its prompt, and stays', async () => {
    await using folder = await Folder.make()
    const config = join(folder.path, 'run.mjs')
    await writeFile(config, "export default { model: 'mlp', data: 'digits', learners: 1, batch: 8, until: { steps: 100_000_000 } }")
    const repl = start(['repl', config], { env: { ARBALEST_TOP: 'off' } })
    repl.child.stdin!.write("job.on('progress', async () => { throw new RangeError('of mine') }), 'listens'\n")
    await repl.said('CALLBACK_FAILED: of mine')
    repl.child.stdin!.write("await job.finished.catch(({ message }) => 'because ' + message)\n")
    await repl.said("'because of mine'")
    repl.child.stdin!.end()
    const { code, stderr } = await repl.ended
    expect(stderr).to.equal('CALLBACK_FAILED: of mine\n')
    expect(code).to.equal(1)
  })

  /** Starts the command that follows in a terminal of its own. */
  const IN_A_TERMINAL = ['bash', '-c', 'exec script --quiet --return --command "$(printf "%q " "$@")" /dev/null', '-']
  const ENDLESS =
    "export default { model: 'mlp', data: 'digits', learners: 1, batch: 8, until: { steps: 100_000_000 }, checkpoint: 'kept' }"

  it('ends once its prompt is left, at a terminal too', async function () {
    if (spawnSync('script', ['--version']).error) return skip(this, 'script, which makes terminals, is not installed')
    await using folder = await Folder.make()
    await writeFile(join(folder.path, 'run.mjs'), ENDLESS)
    const repl = start(['repl', 'run.mjs'], { cwd: folder.path, env: { ARBALEST_TOP: 'off' }, through: IN_A_TERMINAL })
    await repl.said('epoch 1.00')
    repl.child.stdin!.write('.exit\n')
    const late = setTimeout(() => repl.child.kill('SIGKILL'), 20_000)
    const { code, signal, stdout } = await repl.ended
    clearTimeout(late)
    expect([code, signal], stdout).to.deep.equal([0, null])
    expect(stdout).to.match(/stopped after/)
  })

  for (const typed of ['', 'await new Promise(() => {})'])
    it(`stops its run at a signal, and saves it${typed === '' ? '' : ', also while it waits for what was typed'}`, async () => {
      await using folder = await Folder.make()
      await writeFile(join(folder.path, 'run.mjs'), ENDLESS)
      const repl = start(['repl', 'run.mjs'], { cwd: folder.path, env: { ARBALEST_TOP: 'off' } })
      repl.child.stdin!.write(`${typed}\n`)
      await repl.said('epoch 1.00')
      const before = await readdir(join(folder.path, 'kept'))
      repl.child.kill('SIGTERM')
      const { code, stdout, stderr } = await repl.ended
      expect(code, stderr).to.equal(143)
      expect(stdout).to.match(/stopped after/)
      expect(await readdir(join(folder.path, 'kept'))).to.not.deep.equal(before)
    })

  it('tells the failure of its run at the prompt by its code, and ends with it', async () => {
    await using folder = await Folder.make()
    const config = join(folder.path, 'run.mjs')
    await writeFile(
      config,
      "export default { model: 'mlp', data: 'digits', learners: 1, optimiser: { learningRate: 1e9 }, until: { steps: 100 } }"
    )
    const repl = start(['repl', config], { env: { ARBALEST_TOP: 'off' } })
    await repl.said('the loss was not a finite number')
    repl.child.stdin!.end()
    const { code, stdout, stderr } = await repl.ended
    expect(stdout).to.match(/^(> )?LOSS_NOT_FINITE: optimiser\.learningRate: /m)
    expect(stderr).to.match(/^LOSS_NOT_FINITE: /)
    expect(code).to.equal(1)
  })
})
