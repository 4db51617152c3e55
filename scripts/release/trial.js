import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { run } from './run.js'

const NOBODY = 65534
/** Of the system, what npm itself calls. There is no compiler among them. */
const PROGRAMS = ['sh', 'env', 'node']

/**
 * What someone meets who installs the package: an empty project in an empty home, no compiler on the PATH, no root. Installs it from the registry at `url`,
 * trains LeNet, and runs the example of the README. Returns the seconds of the installation and those to the first step, and the accuracy on test samples.
 */
export async function tryPackage(folder, { url, root }) {
  const project = join(folder, 'project')
  const home = join(folder, 'home')
  const bin = join(folder, 'bin')
  for (const path of [folder, project, home, bin]) mkdirSync(path, { recursive: true })
  for (const program of PROGRAMS) symlinkSync(program === 'node' ? process.execPath : run('which', [program]).trim(), join(bin, program))
  const npm = npmPrograms()
  for (const [name, path] of Object.entries(npm)) symlinkSync(path, join(bin, name))

  const user = process.getuid() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  if (user.uid !== undefined) for (const path of [project, home]) chownSync(path, user.uid, user.gid)
  const environment = { PATH: bin, HOME: home, npm_config_registry: url, NO_COLOR: '1', CI: '1' }
  const options = { cwd: project, env: environment, ...user }

  run('npm', ['init', '--yes'], options)
  run('npm', ['pkg', 'set', 'type=module'], options)
  const began = performance.now()
  run('npm', ['install', 'arbalest', '--no-audit', '--no-fund'], options)
  const installSeconds = secondsSince(began)
  expectPrebuilt(project, options)

  const { firstStepSeconds, testAccuracy } = await train(join(project, 'node_modules', '.bin', 'arbalest'), options)
  const [, example] = /```ts\n(.*?)```/s.exec(readFileSync(join(root, 'README.md'), 'utf8'))
  writeFileSync(join(project, 'train.ts'), example)
  const said = run('npx', ['jiti', 'train.ts'], options)
  if (!/testAccuracy: 0\.[89]/.test(said)) throw new Error(`the example of the README does not learn:\n${said}`)
  return { installSeconds, firstStepSeconds, testAccuracy }
}

/** The programs of npm beside this Node.js. */
function npmPrograms() {
  return Object.fromEntries(['npm', 'npx'].map((name) => [name, run('which', [name]).trim()]))
}

function expectPrebuilt(project, options) {
  const built = spawnSync('ls', [join(project, 'node_modules', 'arbalest', 'native', 'build')], { stdio: 'ignore' })
  if (built.status === 0) throw new Error('the installation built an engine, though it brings one')
  const said = run(process.execPath, ['node_modules/.bin/arbalest', 'doctor'], options)
  if (!said.includes('Training can run here.')) throw new Error(`doctor says:\n${said}`)
}

async function train(program, options) {
  const began = performance.now()
  const args = ['train', '--model', 'lenet', '--learners', '2', '--epochs', '2', '--seed', '1', '--log-every', '1', '--json']
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text) => (errors += text))
  let firstStepSeconds
  let finished
  for await (const line of createInterface({ input: child.stdout })) {
    const event = JSON.parse(line)
    if (event.event === 'progress') firstStepSeconds ??= secondsSince(began)
    if (event.event === 'finished') finished = event
  }
  const [status] = await ended
  if (status !== 0 || finished === undefined || firstStepSeconds === undefined)
    throw new Error(`arbalest ${args.join(' ')}: status ${status}\n${errors}`)
  return { firstStepSeconds, testAccuracy: finished.testAccuracy }
}

function secondsSince(began) {
  return Math.round(performance.now() - began) / 1000
}
