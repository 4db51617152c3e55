import type { Intervention } from '../schedules/interventions.js'

/** Characters that are told. Arguments of a message to a learner may be as long as a model. */
const MOST_TOLD = 400

/** What a change of a run has set, as JSON in one line, such as `{"learningRate":0.01}`; empty where its kind says all. */
export function changedValues({ kind: _, round: __, iteration: ___, ...values }: Intervention): string {
  if (Object.keys(values).length === 0) return ''
  const text = JSON.stringify(values)
  return text.length > MOST_TOLD ? `${text.slice(0, MOST_TOLD)}… (${text.length.toLocaleString('en-US')} characters)` : text
}
