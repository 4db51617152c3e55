import { spawnSync } from 'node:child_process'
import { expect } from 'chai'

const INDEX = new URL('../src/index.js', import.meta.url).href
/** Hooks of module loading that tell of every file. */
const TELLS = `import { writeSync } from 'node:fs'
export function load(url, context, next) { writeSync(1, url + '\\n'); return next(url, context) }`

describe("import 'arbalest'", () => {
  it('loads what a program can call, and not what a run, a loaded model, an explanation or a hub needs', () => {
    const hooks = `data:text/javascript,${encodeURIComponent(TELLS)}`
    const program = `import { register } from 'node:module'; register(${JSON.stringify(hooks)}); await import(${JSON.stringify(INDEX)})`
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
    expect(status, stderr).to.equal(0)
    const files = stdout.split('\n')
    expect(files.filter((file) => file.endsWith('src/run/train.js'))).to.have.length(1)
    const late = ['run/run.js', 'run/explain-step.js', 'run/predict-step.js', 'run/hosts/serve-hub.js', 'trained/open-model.js']
    const heavy = [...late, 'crossover/device-scheduler.js', 'runtime/system.js', 'actors/supervisor.js', 'compiler/lower.js']
    expect(files.filter((file) => heavy.some((name) => file.endsWith(`src/${name}`)))).to.deep.equal([])
  })
})
