import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Folder } from '../data/support/files.js'
import { ROOT, start } from './support/arbalest.js'
import { FewDigits } from './support/few-digits.js'

const few = await FewDigits.make()
after(() => few[Symbol.asyncDispose]())

const TRAIN = ['train', '--model', 'mlp', ...few.flags, '--learners', '1', '--batch', '8']

/** The command with its output on a disk that is full. */
async function onFullDisk(args: readonly string[]): Promise<{ code: unknown; stderr: string }> {
  const full = openSync('/dev/full', 'w')
  try {
    const child = spawn(process.execPath, [`${ROOT}bin/arbalest.js`, ...args], { cwd: ROOT, stdio: ['ignore', full, 'pipe'] })
    let stderr = ''
    child.stderr!.on('data', (text: Buffer) => (stderr += text.toString()))
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, stderr }
  } finally {
    closeSync(full)
  }
}

describe('A command whose output is lost', () => {
  let folder: Folder
  let log: string
  beforeEach(async () => {
    folder = await Folder.make()
    log = join(folder.path, 'log.jsonl')
  })
  afterEach(() => folder[Symbol.asyncDispose]())

  const logged = async () => (await readFile(log, 'utf8')).trimEnd().split('\n').at(-1)!

  for (const args of [['--help'], ['doctor'], ['runs', '.'], ['init', '--force'], ['explain', 'mlp']]) {
    it(`ends quietly where nobody reads it: ${args.join(' ')}`, async () => {
      const { child, ended } = start(args, { cwd: folder.path })
      child.stdout!.destroy()
      const { code, stderr } = await ended
      expect([code, stderr]).to.deep.equal([141, ''])
    })
  }

  it('says that the disk is full', async () => {
    const { code, stderr } = await onFullDisk(['--help'])
    expect([code, stderr]).to.deep.equal([1, 'WRITE_FAILED: stdout: it cannot be written (ENOSPC)\n'])
  })

  it('trains on where the disk is full', async () => {
    const { code, stderr } = await onFullDisk([...TRAIN, '--steps', '40', '--log', log, '--json'])
    expect([code, stderr]).to.deep.equal([1, 'WRITE_FAILED: stdout: it cannot be written (ENOSPC); the run continues without it\n'])
    expect(await logged()).to.include('"reason":"completed"')
  })

  it('stops cleanly on Ctrl-C where stdout and stderr went down the same pipe, and its reader is gone', async () => {
    const { child, ended, said } = start([...TRAIN, '--steps', '100000000', '--evaluate-every', '100000', '--log', log, '--json'])
    await said('"progress"')
    child.stderr!.destroy()
    child.kill('SIGINT')
    child.stdout!.destroy()
    expect(await ended).to.include({ code: 130, signal: null })
    expect(await logged()).to.include('"reason":"stopped"')
  })
})
