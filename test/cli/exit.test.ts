import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { filesLoadedBy } from '../support/loaded-files.js'
import { ROOT } from './support/arbalest.js'

/** Runs `arbalest` under limits of the shell. */
function limited(limits: string, ...args: string[]) {
  const command = `${limits}; exec "${process.execPath}" "${join(ROOT, 'bin/arbalest.js')}" "$@"`
  return spawnSync('bash', ['-c', command, 'bash', ...args], { encoding: 'utf8' })
}

describe('The command line under limits of the system', () => {
  it('needs no more than 40 descriptors, also for a training with two learners', () => {
    for (const args of [['--version'], ['--help'], ['train', '--help'], ['doctor']]) {
      const { status, stderr } = limited('ulimit -n 40', ...args)
      expect(status, `${args.join(' ')}: ${stderr}`).to.equal(0)
    }
    const { status, stderr } = limited('ulimit -n 40', 'train', '--model', 'mlp', '--steps', '2', '--learners', '2')
    expect(status, stderr).to.equal(0)
    expect(limited('ulimit -n 40', 'train', '--batch', '0').stderr).to.match(/^INVALID_OPTION: --batch: received 0; [^\n]*\n$/)
  })

  it('loads the module of the command that it carries out, and of no other', () => {
    const report = 'import m from "node:module"; process.on("exit", () => console.error("loaded " + JSON.stringify(Object.keys(m._cache))))'
    for (const [args, command] of [
      [['--version'], []],
      [['top', '--help'], ['top-command.js']]
    ] as const) {
      const main = join(ROOT, 'dist/src/cli/main.js')
      const { stderr } = spawnSync(process.execPath, ['--import', `data:text/javascript,${report}`, main, ...args], { encoding: 'utf8' })
      const loaded = JSON.parse(/^loaded (.*)$/m.exec(stderr)![1]!) as string[]
      expect(loaded.map((path) => basename(path)).filter((name) => name.endsWith('-command.js'))).to.deep.equal(command)
      expect(loaded).to.have.length.below(20)
    }
  })

  it('loads no layers, models and options for a command that shows logs', () => {
    for (const command of ['runs', 'dashboard']) {
      const files = filesLoadedBy([join(ROOT, 'bin/arbalest.js'), command, '--help']).map((file) => file.slice(file.indexOf('/src/')))
      expect(files).to.include(`/src/cli/${command === 'runs' ? 'runs/runs' : command}-command.js`)
      expect(files.filter((file) => /^\/src\/(index|model|options|run)\b/.test(file))).to.deep.equal([])
    }
  })

  it('says so if the working folder was removed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'arbalest-gone-'))
    const from = (...args: string[]) => limited(`cd ${folder} && mkdir gone && cd gone && rmdir ../gone`, ...args)
    for (const args of [['train', '--model', 'mlp', '--steps', '2'], ['doctor'], ['train', 'config.ts']]) {
      const { status, stderr } = from(...args)
      expect(status, stderr).to.equal(1)
      expect(stderr).to.match(/^INVALID_STATE: [^\n]*; the working folder was removed: change to one that is there\n$/)
    }
    expect(from('--help').status).to.equal(0)
    await rmdir(folder)
  })

  it('says so if the system allows no more threads', function () {
    // The limit does not hold for root, and counts all threads of a user: a user without others is wanted.
    const asNobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', 'prlimit', '--nproc=12']
    const trial = spawnSync(asNobody[0]!, [...asNobody.slice(1), process.execPath, '--version'])
    if (process.getuid?.() !== 0 || trial.status !== 0) return this.skip()
    const train = [process.execPath, join(ROOT, 'bin/arbalest.js'), 'train', '--model', 'mlp', '--steps', '1', '--learners', '2', '--json']
    const { status, stdout, stderr } = spawnSync(asNobody[0]!, [...asNobody.slice(1), ...train], { encoding: 'utf8', cwd: tmpdir() })
    expect(status).to.equal(1)
    expect(stderr).to.match(
      /^(LIMIT_REACHED|LEARNER_FAILED): [^\n]*threads: the system allows no more: raise the limit \(ulimit -u[^\n]*\n$/
    )
    expect(stdout.trimEnd().split('\n').at(-1)).to.match(/"event":"failed"/)
  })

  it('says which limit stops a run', () => {
    const args = ['train', '--model', 'mlp', '--steps', '1', '--learners', '1']
    // Below some limit Node.js itself does not load the program; the first one above it lets no learner start.
    const loads = (stderr: string): boolean => !/^Node\.js v/m.test(stderr)
    let most = 20
    let run = limited(`ulimit -n ${most}`, ...args)
    while (!loads(run.stderr)) run = limited(`ulimit -n ${++most}`, ...args)
    const { status, stderr } = run
    expect(status).to.equal(1)
    expect(stderr).to.match(
      /^[A-Z_]+: [^\n]*EMFILE[^\n]*; the system allows no more open files: raise the limit \(ulimit -n\) to at least 50 and 5 for each learner\n$/
    )
  })
})
