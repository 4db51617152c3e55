import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Problem } from './problem.js'
import type { Trace } from './trace.js'

const SCRIPT = fileURLToPath(new URL('../../../test/oracle/pytorch.py', import.meta.url))

/** A Python that has PyTorch; undefined where there is none. */
export function pythonWithTorch(): string | undefined {
  return pythonWith('torch', 'numpy')
}

/** A Python that imports all of these: `ARBALEST_PYTHON`, else Debian's or the one in PATH; undefined where there is none. */
export function pythonWith(...modules: readonly string[]): string | undefined {
  const chosen = process.env['ARBALEST_PYTHON']
  const candidates = chosen === undefined || chosen === '' ? ['/usr/bin/python3', 'python3'] : [chosen]
  return candidates.find((program) => {
    try {
      execFileSync(program, ['-c', `import ${modules.join(', ')}`], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  })
}

/** The problem's steps in PyTorch. */
export function runPyTorch(
  python: string,
  problem: Problem,
  options: { precision: 'float32' | 'float64'; order?: 'contiguous' | 'channels_last' }
): Trace & { version: string } {
  const folder = mkdtempSync(join(tmpdir(), 'arbalest-oracle-'))
  try {
    const { name, model, batch, steps, rate, momentum, weightDecay } = problem
    const shapes = problem.parameters.map((parameter) => parameter.shape)
    const described = {
      model: name,
      sample: model.input,
      classes: 10,
      shortcut: 'A',
      size: problem.size ?? {},
      batch,
      steps,
      rate,
      momentum,
      weightDecay,
      shapes,
      labelSmoothing: model.labelSmoothing ?? 0,
      classWeights: model.classWeights ?? null
    }
    writeFileSync(join(folder, 'problem.json'), JSON.stringify(described))
    writeFileSync(join(folder, 'weights.f32'), bytes([problem.weights]))
    writeFileSync(join(folder, 'inputs.f32'), bytes(problem.inputs))
    writeFileSync(join(folder, 'targets.i32'), bytes(problem.targets))
    const version = execFileSync(python, [SCRIPT, folder, options.precision, options.order ?? 'contiguous'], { encoding: 'utf8' }).trim()
    const read = (file: string): Float64Array => new Float64Array(Uint8Array.from(readFileSync(join(folder, file))).buffer)
    return { version, losses: [...read('losses.f64')], gradients: read('gradients.f64'), trained: read('trained.f64') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function bytes(arrays: readonly (Float32Array | Int32Array)[]): Buffer {
  return Buffer.concat(arrays.map((array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength)))
}
