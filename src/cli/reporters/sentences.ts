import colours from 'picocolors'
import type { EvaluatedEvent, FinishedEvent, LearnerLostEvent, StartedEvent } from '../../index.js'
import { bytes, count, duration, loss, percent } from '../figures.js'

/** What is said in words, the same on a terminal and in a file. */

export function startedSentence(event: StartedEvent): string {
  const learners = `${event.learners} ${event.learners === 1 ? 'learner' : 'learners'}`
  return [
    `${colours.bold(event.model)} on ${colours.bold(event.data)}: ${count(event.parameters)} parameters, ${count(event.samples)} samples;`,
    `${learners} with batches of ${event.batch}, ${event.synchroniser}, ${event.precision}, seed ${event.seed};`,
    `${count(event.iterations)} iterations; ${bytes(event.bytesPerLearner)} a learner and ${bytes(event.bytesShared)} shared`
  ].join(' ')
}

export function learnerLostSentence({ learner, round, reason, replacedBy }: LearnerLostEvent): string {
  const then = replacedBy === null ? 'too many have died in its place' : `learner ${replacedBy} starts in its place`
  return `${colours.yellow(`learner ${learner} was lost`)} in round ${round}: ${reason}; ${then}`
}

export function evaluatedSentence(event: EvaluatedEvent): string {
  return `epoch ${event.epoch.toFixed(2)}: ${measured(event)}`
}

export function finishedSentence(event: FinishedEvent): string {
  const how = event.reason === 'stopped' ? colours.yellow('stopped') : colours.green('finished')
  const pace = `${count(event.imagesPerSecond)} images/s with ${event.learners} ${event.learners === 1 ? 'learner' : 'learners'}`
  return `${how} after ${event.epochs.toFixed(2)} epochs in ${duration(event.seconds)}: ${measured(event)}, ${pace}\nweights sha256 ${event.weightsSha256}`
}

function measured({ testAccuracy, testLoss }: { testAccuracy: number | null; testLoss: number }): string {
  const accuracy = testAccuracy === null ? '' : `test accuracy ${colours.bold(percent(testAccuracy))}, `
  return `${accuracy}test loss ${loss(testLoss)}`
}
