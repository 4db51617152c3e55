// node scripts/fuzz-native.js [--seconds N] [HARNESS...]
//
// Builds the harnesses of native/fuzz with clang's libFuzzer, address and undefined-behaviour sanitizers in native/build-fuzz, and runs each
// (program, snapshot, vectors) for N seconds, 60 by default. A run keeps its corpus in native/build-fuzz/learnt and writes inputs that cause
// failures to native/build-fuzz/found. Every run begins with native/fuzz/corpus, the inputs that caused failures in the past.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { asked, end, root, runs, step } from './native-harnesses.js'

const HARNESSES = ['program', 'snapshot', 'vectors']
/** Seconds for one input: an operator may use all of its memory, and is slow under sanitizers. */
const MOST_SECONDS = 20
const MOST_MEGABYTES = 2048

const build = join(root, 'native', 'build-fuzz')
const { seconds, harnesses } = asked(HARNESSES)

const clang = process.env.CXX?.includes('clang') ? process.env.CXX : 'clang++'
if (spawnSync(clang, ['--version']).status !== 0)
  end('Fuzzing the native engine takes clang with its sanitizers; install them: sudo apt-get install clang libclang-rt-dev')
step('cmake', ['-S', join(root, 'native', 'fuzz'), '-B', build, `-DCMAKE_CXX_COMPILER=${clang}`])
step('cmake', ['--build', build, '--parallel', String(availableParallelism())])
const seeds = join(build, 'seeds')
step(process.execPath, [join(root, 'dist', 'test', 'fuzz', 'native', 'write-seeds.js'), seeds])

const found = harnesses.filter(finds)
if (found.length > 0)
  end(
    `Found something in ${found.join(', ')}: run native/build-fuzz/fuzz-NAME with the file that is named above, and keep it in native/fuzz/corpus.`
  )

function finds(harness) {
  const learnt = join(build, 'learnt', harness)
  const artifacts = join(build, 'found', harness, '/')
  const others = [join(root, 'native', 'fuzz', 'corpus', harness), join(seeds, harness)].filter((folder) => existsSync(folder))
  for (const folder of [learnt, artifacts]) mkdirSync(folder, { recursive: true })
  const limits = [
    `-max_total_time=${seconds}`,
    `-timeout=${MOST_SECONDS}`,
    `-rss_limit_mb=${MOST_MEGABYTES}`,
    '-max_len=16384',
    '-len_control=0'
  ]
  const options = [...limits, `-artifact_prefix=${artifacts}`, '-print_final_stats=1', '-verbosity=1']
  return !runs(harness, join(build, `fuzz-${harness}`), [...options, learnt, ...others])
}
