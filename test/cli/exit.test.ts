import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { ROOT } from './support/arbalest.js'

/** Runs `arbalest` under limits of the shell. */
function limited(limits: string, ...args: string[]) {
  const command = `${limits}; exec "${process.execPath}" "${join(ROOT, 'bin/arbalest.js')}" "$@"`
  return spawnSync('bash', ['-c', command, 'bash', ...args], { encoding: 'utf8' })
}

describe('The command line under limits of the system', () => {
  it('needs no more than 40 descriptors', () => {
    for (const args of [['--version'], ['--help'], ['train', '--help'], ['doctor']]) {
      const { status, stderr } = limited('ulimit -n 40', ...args)
      expect(status, `${args.join(' ')}: ${stderr}`).to.equal(0)
    }
    expect(limited('ulimit -n 40', 'train', '--batch', '0').stderr).to.match(/^INVALID_OPTION: --batch: received 0; [^\n]*\n$/)
  })

  it('says which limit stops a run', () => {
    const { status, stderr } = limited('ulimit -n 28', 'train', '--model', 'mlp', '--steps', '1', '--learners', '1')
    expect(status).to.equal(1)
    expect(stderr).to.match(/^[A-Z_]+: [^\n]*EMFILE[^\n]*; the system allows no more open files: raise the limit \(ulimit -n\)\n$/)
  })
})
