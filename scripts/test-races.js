// node scripts/test-races.js [--seconds N] [HARNESS...]
//
// Builds the harnesses of native/stress with g++'s ThreadSanitizer in native/build-stress, and runs trials of each (groups, feeding, arenas)
// for N seconds, 60 if left out: threads that do all at once what learners, feeders and a group's owner do, on plain memory and on the
// stand-in of a GPU's streams.
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const HARNESSES = ['groups', 'feeding', 'arenas']

const root = fileURLToPath(new URL('..', import.meta.url))
const build = join(root, 'native', 'build-stress')
const { seconds, harnesses } = asked()

// The name alone is what it answers where it has no such library.
const library = spawnSync('g++', ['-print-file-name=libtsan.so'], { encoding: 'utf8' }).stdout ?? ''
if (!library.includes('/')) end('Looking for races takes g++ with ThreadSanitizer; install them: sudo apt-get install g++ cmake make')
step('cmake', ['-S', join(root, 'native', 'stress'), '-B', build, '-DCMAKE_CXX_COMPILER=g++'])
step('cmake', ['--build', build, '--parallel', String(availableParallelism())])

// Kernels place memory more at random than older sanitizers can take.
const still = spawnSync('setarch', ['--addr-no-randomize', 'true']).status === 0 ? ['setarch', '--addr-no-randomize'] : []
const found = harnesses.filter((harness) => !runs(harness))
if (found.length > 0) end(`Found something in ${found.join(', ')}: what stands above says where; a seed makes that trial again.`)

function asked() {
  try {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { seconds: { type: 'string', default: '60' } } })
    const strangers = positionals.filter((name) => !HARNESSES.includes(name))
    if (strangers.length > 0) end(`harness: received ${strangers.join(', ')}; use ${HARNESSES.join(', ')}`)
    if (!/^[1-9]\d{0,6}$/.test(values.seconds)) end(`--seconds: received ${values.seconds}; use a whole number above 0`)
    return { seconds: values.seconds, harnesses: positionals.length > 0 ? positionals : HARNESSES }
  } catch (error) {
    return end(error.message)
  }
}

function runs(harness) {
  process.stderr.write(`\n== ${harness}\n`)
  const [command, ...args] = [...still, join(build, `stress-${harness}`), '--seconds', seconds]
  return spawnSync(command, args, { stdio: 'inherit' }).status === 0
}

function step(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) end(`${command} ${args[0]} failed${error ? ` (${error.message})` : ''}; build the project first: npm run setup`)
}

function end(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}
