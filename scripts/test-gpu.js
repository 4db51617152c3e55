// node scripts/test-gpu.js [operators] [curves] [synchronisers] [faults] [--sanitizer memcheck|racecheck|initcheck|synccheck]
// The tests of the engine on backend `cuda`: the operator table and data loading, losses of whole models, averaging rules, faults of a device; all by
// default. Without a GPU it prints one sentence and exits 1.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const SUITES = {
  operators: ['engine/operators', 'engine/load', 'engine/stream', 'engine/token-windows', 'engine/dropout'],
  curves: ['engine/device'],
  synchronisers: ['engine/synchronisers', 'engine/levels'],
  faults: ['run/gpu-faults']
}
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
const files = suites.flatMap((name) => SUITES[name]).map((name) => join(root, 'dist/test', `${name}.test.js`))
const mocha = [join(root, 'node_modules/mocha/bin/mocha.js'), '--timeout', values.sanitizer ? '0' : '240000', '--grep', 'cuda', ...files]
const sanitizer = values.sanitizer ? ['compute-sanitizer', '--tool', values.sanitizer, ...SANITIZER] : []
const [program, ...args] = [...sanitizer, process.execPath, ...mocha]
// The operator table has more shapes than any model, and faults need no fast plans; curves and rules search for plans as training does.
const search = suites.includes('operators') || suites.includes('faults') || values.sanitizer ? { ARBALEST_TUNE: '0' } : {}
const env = { ...search, ...process.env, ARBALEST_TEST_GPU: '1' }
const { status, error } = spawnSync(program, args, { cwd: root, stdio: 'inherit', env })
if (error) end(1, `test:gpu: ${program}: ${error.code === 'ENOENT' ? 'it is not on the PATH; the CUDA toolkit has it' : error.message}`)
process.exitCode = status ?? 1

function end(code, line) {
  process.stderr.write(`${line}\n`)
  process.exit(code)
}
