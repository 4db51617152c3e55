import { readFileSync, writeFileSync } from 'node:fs'
import { fingerprint, type Problem } from './problem.js'
import { runPyTorch } from './pytorch.js'
import { distances, drift, project } from './trace.js'

/** How PyTorch solved a problem in float64, and how far its float32 was from that. Small enough to keep. */
export interface Fixture {
  readonly torch: string
  readonly fingerprint: string
  readonly losses: { readonly float64: readonly number[]; readonly float32: readonly number[] }
  /** Projections of each parameter's gradient in the first step, and of its value after the last. */
  readonly gradients: readonly (readonly number[])[]
  readonly trained: readonly (readonly number[])[]
  /**
   * Of PyTorch's float32 from its float64: the larger one of contiguous and channels-last tensors, which run different code.
   */
  readonly difference: { readonly losses: number; readonly gradients: number; readonly trained: number }
}

/** What PyTorch makes of a problem here and now. */
export function measureFixture(python: string, problem: Problem): Fixture {
  const double = runPyTorch(python, problem, { precision: 'float64' })
  const singles = (['contiguous', 'channels_last'] as const).map((order) => runPyTorch(python, problem, { precision: 'float32', order }))
  const gradients = project(problem, double.gradients)
  const trained = project(problem, double.trained)
  const largest = (measure: (single: (typeof singles)[number]) => number): number => Math.max(...singles.map(measure))
  return {
    torch: double.version,
    fingerprint: fingerprint(problem),
    losses: { float64: double.losses, float32: singles[0]!.losses },
    gradients,
    trained,
    difference: {
      losses: largest((single) => drift(single.losses, double.losses)),
      gradients: largest((single) => distances(project(problem, single.gradients), gradients).whole),
      trained: largest((single) => distances(project(problem, single.trained), trained).whole)
    }
  }
}

function file(name: string): URL {
  return new URL(`../../../test/oracle/fixtures/${name}.json`, import.meta.url)
}

export function readFixture(name: string): Fixture {
  return JSON.parse(readFileSync(file(name), 'utf8')) as Fixture
}

export function writeFixture(name: string, fixture: Fixture): void {
  writeFileSync(file(name), `${JSON.stringify(fixture, rounded, 2)}\n`)
}

/** Twelve digits tell a distance of 1e-7 of the vector to a thousandth. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(12)) : value
}
