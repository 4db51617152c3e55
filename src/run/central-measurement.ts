import type { Findings } from '../actors/evaluator.js'
import type { CourseOptions } from './run-loop-options.js'
import type { Crew } from './run-actors.js'
import type { EvaluatedEvent } from '../observe/events.js'

/** Measures the central model on the test set, with all evaluators at once, while the learners rest. */
export async function measureCentral(
  { evaluators, synchroniser }: Pick<Crew, 'evaluators' | 'synchroniser'>,
  { trace, samples, answers, writes, settings }: CourseOptions
): Promise<EvaluatedEvent> {
  const start = performance.now()
  const measure = () => Promise.all(evaluators.map((evaluator) => evaluator.askWith({ deadline: Infinity }).measure()))
  const findings = await (trace ? trace.during('evaluation', measure) : measure())
  const seconds = (performance.now() - start) / 1000
  const total = (what: keyof Findings) => findings.reduce((sum, each) => sum + each[what], 0)
  const share = (what: 'correct' | 'amongTop') => total(what) / (total('samples') * answers)
  const testAccuracy = answers > 0 ? share('correct') : null
  const testLoss = total('loss') / total('samples')
  const { iterations: iteration, position } = await synchroniser.ask.status()
  return {
    event: 'evaluated',
    iteration,
    epoch: position / samples,
    testLoss,
    testAccuracy,
    ...(settings.topK !== undefined && { testTopK: share('amongTop') }),
    ...(writes && { testPerplexity: Math.exp(testLoss) }),
    seconds
  }
}
