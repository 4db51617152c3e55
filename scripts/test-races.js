// node scripts/test-races.js [--seconds N] [HARNESS...]
//
// Builds the harnesses of native/stress with g++'s ThreadSanitizer in native/build-stress, and runs trials of each (groups, feeding, arenas,
// hosts, lease, transfers) for N seconds, 60 by default: threads act as learners, feeders, a group's owner and hosts at the same time, on plain
// memory and on the stand-in of a GPU's streams.
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { asked, end, root, runs, step } from './native-harnesses.js'

const HARNESSES = ['groups', 'feeding', 'arenas', 'hosts', 'lease', 'transfers']

const build = join(root, 'native', 'build-stress')
const { seconds, harnesses } = asked(HARNESSES)

// The compiler prints the bare name if it has no such library.
const library = spawnSync('g++', ['-print-file-name=libtsan.so'], { encoding: 'utf8' }).stdout ?? ''
if (!library.includes('/')) end('Looking for races takes g++ with ThreadSanitizer; install them: sudo apt-get install g++ cmake make')
step('cmake', ['-S', join(root, 'native', 'stress'), '-B', build, '-DCMAKE_CXX_COMPILER=g++'])
step('cmake', ['--build', build, '--parallel', String(availableParallelism())])

// Older sanitizers fail with the memory randomisation of recent kernels.
const still = spawnSync('setarch', ['--addr-no-randomize', 'true']).status === 0 ? ['setarch', '--addr-no-randomize'] : []
const found = harnesses.filter((harness) => {
  const [command, ...args] = [...still, join(build, `stress-${harness}`), '--seconds', seconds]
  return !runs(harness, command, args)
})
if (found.length > 0) end(`Found something in ${found.join(', ')}: what stands above says where; a seed makes that trial again.`)
