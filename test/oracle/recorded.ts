import { expect } from 'chai'
import { readFixture } from './fixture.js'
import { PROBLEMS } from './problems.js'
import { runPyTorch } from './pytorch.js'
import { distances, drift, project } from './trace.js'

/** PyTorch solves the problem as its fixture says; distances of gradients are shares of their length, where that is above 1. */
export function expectRecordedAnswers(python: string, name: string): void {
  const recorded = readFixture(name)
  const problem = PROBLEMS.get(name)!()
  const now = runPyTorch(python, problem, { precision: 'float64' })
  const gradients = project(problem, now.gradients)
  const length = Math.max(
    1,
    distances(
      gradients,
      gradients.map((sums) => sums.map(() => 0))
    ).whole
  )
  expect(drift(now.losses, recorded.losses.float64), 'losses').to.be.below(1e-9)
  expect(distances(gradients, recorded.gradients).whole / length, 'gradients').to.be.below(1e-8)
  expect(distances(project(problem, now.trained), recorded.trained).whole / length, 'trained weights').to.be.below(1e-7)
}
