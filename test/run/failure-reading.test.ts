import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const INDEX = new URL('../../src/index.js', import.meta.url).href
const FAILING = JSON.stringify({ model: 'lenet', data: 'mnist', dataDir: fileURLToPath(new URL('.', import.meta.url)) })
const OTHER = FAILING.replace('mnist', 'cifar-10')

/** Runs a program that imports `train`. */
function run(program: string): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
  const source = `const { train } = await import(${JSON.stringify(INDEX)}); ${program}`
  return spawnSync(process.execPath, ['--input-type=module', '-e', source], { encoding: 'utf8' })
}

describe('a run that fails', () => {
  it('ends a program that reads its failure nowhere, once the other runs of the program are over', () => {
    const other = `train({ model: 'lenet', until: { steps: 4 } }).once('finished', ({ reason }) => console.log(reason))`
    const { status, stdout, stderr } = run(`train(${FAILING}).on('progress', () => {}); ${other}`)
    expect(status).to.equal(1)
    expect(stderr).to.include('DATA_NOT_FOUND')
    expect(stdout).to.equal('completed\n')
  })

  const readers = {
    'its promise': `await job.finished.catch(({ code }) => console.log(code))`,
    'its promise, late': `await new Promise((resolve) => setTimeout(resolve, 500)); await job.finished.catch(({ code }) => console.log(code))`,
    'its events': `try { for await (const event of job); } catch ({ code }) { console.log(code) }`,
    'a listener': `job.on('failed', ({ code }) => console.log(code))`,
    'its model': `await job.model.weights().catch(({ code }) => console.log(code))`
  }
  for (const [reader, program] of Object.entries(readers))
    it(`does not end a program that reads its failure from ${reader}`, () => {
      const { status, stdout, stderr } = run(`const job = train(${FAILING}); ${program}`)
      expect({ status, stdout, stderr }).to.deep.equal({ status: 0, stdout: 'DATA_NOT_FOUND\n', stderr: '' })
    })

  it('does not end a program that reads one of two failures late, with that one', () => {
    const program = `const [one, other] = [train(${FAILING}), train(${OTHER})]
      await new Promise((resolve) => setTimeout(resolve, 500)); await one.finished.catch(() => console.log('read'))`
    const { status, stdout, stderr } = run(program)
    expect(status).to.equal(1)
    expect(stdout).to.equal('read\n')
    expect(stderr).to.include('cifar-10').and.not.include('mnist')
  })
})
