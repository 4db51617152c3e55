import type { RuleModule } from 'arbalest'

/** Local SGD whose central model moves only a part of the way to the learners' mean; with more learners it moves farther. */
const partWay: RuleModule<{ readonly period?: number }> = ({ period = 4 }, { learners }) => ({
  kind: 'synchronous',
  central: { kind: 'outer', learningRate: 1 - 1 / (learners + 1), momentum: 0, nesterov: false, perLearningRate: false },
  adopts: true,
  period,
  from: 0
})

export default partWay
