// node scripts/fuzz-native.js [--seconds N] [HARNESS...]
//
// Builds the harnesses of native/fuzz with clang's libFuzzer, address and undefined-behaviour sanitizers in native/build-fuzz, and runs each
// (program, snapshot, vectors) for N seconds, 60 if left out. What a run learns stays in native/build-fuzz/learnt, what it finds in
// native/build-fuzz/found; native/fuzz/corpus has the inputs that did harm once, which every run tries first.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const HARNESSES = ['program', 'snapshot', 'vectors']
/** Of one input. An operator may take all the memory that it is given, and the sanitizers' time over it. */
const MOST_SECONDS = 20
const MOST_MEGABYTES = 2048

const root = fileURLToPath(new URL('..', import.meta.url))
const build = join(root, 'native', 'build-fuzz')
const { seconds, harnesses } = asked()

const clang = process.env.CXX?.includes('clang') ? process.env.CXX : 'clang++'
if (spawnSync(clang, ['--version']).status !== 0)
  end('Fuzzing the native engine takes clang with its sanitizers; install them: sudo apt-get install clang libclang-rt-dev')
step('cmake', ['-S', join(root, 'native', 'fuzz'), '-B', build, `-DCMAKE_CXX_COMPILER=${clang}`])
step('cmake', ['--build', build, '--parallel', String(availableParallelism())])
const seeds = join(build, 'seeds')
step(process.execPath, [join(root, 'dist', 'test', 'fuzz', 'native', 'write-seeds.js'), seeds])

const found = harnesses.filter((harness) => !runs(harness))
if (found.length > 0)
  end(
    `Found something in ${found.join(', ')}: run native/build-fuzz/fuzz-NAME with the file that is named above, and keep it in native/fuzz/corpus.`
  )

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
  const learnt = join(build, 'learnt', harness)
  const artifacts = join(build, 'found', harness, '/')
  const others = [join(root, 'native', 'fuzz', 'corpus', harness), join(seeds, harness)].filter((folder) => existsSync(folder))
  for (const folder of [learnt, artifacts]) mkdirSync(folder, { recursive: true })
  process.stderr.write(`\n== ${harness}\n`)
  const limits = [
    `-max_total_time=${seconds}`,
    `-timeout=${MOST_SECONDS}`,
    `-rss_limit_mb=${MOST_MEGABYTES}`,
    '-max_len=16384',
    '-len_control=0'
  ]
  const options = [...limits, `-artifact_prefix=${artifacts}`, '-print_final_stats=1', '-verbosity=1']
  return spawnSync(join(build, `fuzz-${harness}`), [...options, learnt, ...others], { stdio: 'inherit' }).status === 0
}

function step(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) end(`${command} ${args[0]} failed${error ? ` (${error.message})` : ''}; build the project first: npm run setup`)
}

function end(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}
