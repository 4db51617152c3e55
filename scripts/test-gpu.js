// node scripts/test-gpu.js [operators] [curves] [banks] [synchronisers] [faults] [--sanitizer memcheck|racecheck|initcheck|synccheck]
// The tests of the engine on backend `cuda`: the operator table and data loading, losses of whole models, learner banks, averaging rules, faults of a
// device; all by default. The operator table runs in several processes, because the reference on the CPU takes most of its time; their outputs follow
// each other.
// Without a GPU it prints one sentence and exits 1.
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const SUITES = {
  operators: [
    'engine/operators.slow',
    'engine/attention',
    'engine/partial-sums',
    'engine/load',
    'engine/stream',
    'engine/token-windows',
    'engine/dropout'
  ],
  curves: ['engine/device'],
  banks: ['run/learner-bank.slow'],
  synchronisers: ['engine/synchronisers', 'engine/levels'],
  faults: ['run/gpu-faults']
}
/** The parts of the suites that take long, by the names of their tests; what matches none of them is a part of its own. */
const PARTS = [
  'operators conv2d cuda in f32',
  'operators conv2d cuda in bf16',
  'operators conv2d cuda keeps',
  'operators conv2dBackwardData cuda in f32',
  'operators conv2dBackwardData cuda in bf16',
  'operators conv2dBackwardWeights cuda in f32',
  'operators conv2dBackwardWeights cuda in bf16'
]
/** The sanitizer checks our kernels only, because the libraries have many and would be slow; it ignores the return codes of the libraries' calls. */
const SANITIZER = ['--kernel-name', 'kns=arbalest', '--report-api-errors', 'no', '--error-exitcode', '99', '--target-processes', 'all']
const TOOLS = ['memcheck', 'racecheck', 'initcheck', 'synccheck']

const root = fileURLToPath(new URL('..', import.meta.url))
const { values, positionals } = parseArgs({ allowPositionals: true, options: { sanitizer: { type: 'string' } } })
const unknown = positionals.find((name) => !Object.hasOwn(SUITES, name))
if (unknown !== undefined) end(2, `test:gpu: received ${unknown}; the suites are ${Object.keys(SUITES).join(', ')}`)
if (values.sanitizer !== undefined && !TOOLS.includes(values.sanitizer))
  end(2, `--sanitizer: received ${values.sanitizer}; use one of ${TOOLS.join(', ')}`)

const { engine } = await import(join(root, 'dist/src/engine/native.js'))
try {
  engine.createReplica({ backend: 'cuda', layout: { parameters: [], bytes: 0, elements: 0 }, threads: 1, seed: 1 })
} catch (error) {
  end(1, `test:gpu: ${error.message}`)
}

const suites = positionals.length > 0 ? positionals : Object.keys(SUITES)
const filesOf = (some) => some.flatMap((name) => SUITES[name]).map((name) => join(root, 'dist/test', `${name}.test.js`))
// Faults take the memory of the GPU away from whatever runs beside them; a sanitizer has no room for several.
const apart = values.sanitizer === undefined && suites.includes('operators') && availableParallelism() > PARTS.length
const beside = suites.filter((name) => name !== 'faults')
const runs = apart
  ? [
      [
        ...PARTS.map((part) => ({ files: filesOf(['operators']), grep: `^${part}` })),
        { files: filesOf(beside), grep: `^(?!${PARTS.join('|')}).*cuda` }
      ],
      suites.includes('faults') ? [{ files: filesOf(['faults']), grep: 'cuda' }] : []
    ]
  : [[{ files: filesOf(suites), grep: 'cuda' }]]
// The operator table has more shapes than any model, and faults need no fast plans; curves and rules search for plans as training does.
const search = suites.includes('operators') || suites.includes('faults') || values.sanitizer ? { ARBALEST_TUNE: '0' } : {}

for (const together of runs) {
  const codes = await Promise.all(together.map((run) => test(run, together.length > 1)))
  process.exitCode ||= codes.find((code) => code !== 0) ?? 0
}

/** The exit code of the tests of these files whose names match; where several run, the output comes at the end. */
function test({ files, grep }, withOthers) {
  const mocha = [join(root, 'node_modules/mocha/bin/mocha.js'), '--timeout', values.sanitizer ? '0' : '240000', '--grep', grep, ...files]
  const sanitizer = values.sanitizer ? ['compute-sanitizer', '--tool', values.sanitizer, ...SANITIZER] : []
  const [program, ...args] = [...sanitizer, process.execPath, ...mocha]
  const env = { ...search, ...process.env, ARBALEST_TEST_GPU: '1' }
  const child = spawn(program, args, { cwd: root, stdio: withOthers ? ['ignore', 'pipe', 'pipe'] : 'inherit', env })
  let said = ''
  // A time limit ends this process. What the tests have printed until then is shown.
  process.once('SIGTERM', () => {
    process.stdout.write(said)
    child.kill()
    process.exitCode = 143
  })
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (said += text))
  return new Promise((resolve) => {
    child.on('error', (error) =>
      end(1, `test:gpu: ${program}: ${error.code === 'ENOENT' ? 'it is not on the PATH; the CUDA toolkit has it' : error.message}`)
    )
    child.on('close', (code) => {
      process.stdout.write(said)
      resolve(code ?? 1)
    })
  })
}

function end(code, line) {
  process.stderr.write(`${line}\n`)
  process.exit(code)
}
