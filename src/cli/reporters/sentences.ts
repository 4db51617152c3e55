import colours from 'picocolors'
import type {
  CheckpointEvent,
  EvaluatedEvent,
  FinishedEvent,
  LearnerLostEvent,
  LevelsEvent,
  PlannedEvent,
  PlannedProgram,
  PopulationEvent,
  ProgressEvent,
  ResumedEvent,
  SampleSkippedEvent,
  SetAsideEvent,
  StartedEvent,
  WentBackEvent
} from '../../index.js'
import { bytes, count, duration, loss, percent } from '../text.js'
import { tableLines, type Column } from '../text.js'

/** What is said in words, the same on a terminal and in a file. */

export function startedSentence(event: StartedEvent): string {
  const learners = `${event.learners} ${event.learners === 1 ? 'learner' : 'learners'}`
  return [
    `${colours.bold(event.model)} on ${colours.bold(event.data)}: ${count(event.parameters)} parameters, ${count(event.samples)} samples;`,
    `${learners} with batches of ${event.batch}, ${event.synchroniser}, ${event.precision}, seed ${event.seed};`,
    `${count(event.iterations)} iterations; ${bytes(event.bytesPerLearner)} a learner and ${bytes(event.bytesShared)} shared`
  ].join(' ')
}

const PROGRAM_COLUMNS: readonly Column<PlannedProgram>[] = [
  { title: 'program', cell: ({ name }) => name, side: 'left' },
  { title: 'batch', cell: ({ batch }) => count(batch) },
  { title: 'operators', cell: ({ operators }) => count(operators) },
  { title: 'GFLOP', cell: ({ flops }) => (flops / 1e9).toPrecision(3) },
  ...['weights', 'gradients', 'statistics', 'activations'].map((title) => ({
    title,
    cell: ({ arenas }: PlannedProgram) => bytes(arenas[title] ?? 0)
  }))
]

export function plannedSentence({
  programs,
  learners,
  stepsAnEpoch,
  steps,
  bytesPerLearner,
  bytesShared,
  bytesFree
}: PlannedEvent): string {
  const [titles, ...lines] = tableLines(PROGRAM_COLUMNS, programs)
  const all = `${count(learners)} x ${bytes(bytesPerLearner)} for learners and ${bytes(bytesShared)} for all, of ${bytes(bytesFree)} that are free`
  return [colours.dim(titles), ...lines, `${count(steps)} steps of each learner, ${count(stepsAnEpoch)} an epoch; ${all}`].join('\n')
}

/** Whether a few batches were learnt by heart: a loss that has fallen to a tenth has left chance behind. */
export function overfitSentence(before: number, after: number): { readonly learnt: boolean; readonly text: string } {
  const learnt = after <= before / 10
  const text = learnt
    ? colours.green(`the loss collapsed from ${loss(before)} to ${loss(after)}: the model can learn these samples`)
    : colours.yellow(
        `the loss did not collapse: ${loss(before)} to ${loss(after)}; look at learning rate, labels and model, or give it more --steps`
      )
  return { learnt, text }
}

export function learnerLostSentence({ learner, round, reason, replacedBy, vacant }: LearnerLostEvent): string {
  const ended = vacant ? 'the others go on without it' : 'too many have died in its place'
  const then = replacedBy === null ? ended : `learner ${replacedBy} starts in its place`
  return `${colours.yellow(`learner ${learner} was lost`)} in round ${round}: ${reason}; ${then}`
}

export function levelsSentence({ devices, levels, reason }: LevelsEvent): string {
  const what = devices.length > 1 ? `${devices.length} devices` : 'one device'
  return `${colours.cyan(what)}, averaged by ${['learners', ...levels].join(', ')}: ${reason}`
}

export function setAsideSentence({ checkpoints }: SetAsideEvent): string {
  const told = ({ folder, movedTo, reason }: SetAsideEvent['checkpoints'][number]) =>
    `${colours.yellow('moved aside')}: ${folder} to ${movedTo}: ${reason ?? 'the run begins before it'}`
  return checkpoints.map(told).join('\n')
}

/** What was damaged is told where it is moved aside. */
export function resumedSentence({ folder, iteration }: ResumedEvent): string {
  return `${colours.cyan('resumed')} at iteration ${count(iteration)} from ${folder}`
}

/** Only what went wrong is worth a line. */
export function checkpointSentence({ iteration, reason }: CheckpointEvent): string | undefined {
  return reason === null ? undefined : `${colours.yellow('no checkpoint')} of iteration ${count(iteration)}: ${reason}`
}

export function wentBackSentence({ iteration, learningRateScale, retries }: WentBackEvent): string {
  const left = `${retries} more ${retries === 1 ? 'time' : 'times'} at most`
  return `${colours.yellow('went back')}: the loss was no finite number at iteration ${count(iteration)}; learning rates times ${learningRateScale} (${left})`
}

export function populationSentence({ round, from, to, reason }: PopulationEvent): string {
  const what = from === to ? `${to} ${to === 1 ? 'learner' : 'learners'}` : `${from} -> ${to} learners`
  return `${colours.cyan(what)} at round ${round}: ${reason}`
}

export function sampleSkippedSentence({ item, reason, skipped }: SampleSkippedEvent): string {
  return `${colours.yellow(`${item} was passed over`)}: ${reason}; ${skipped} so far`
}

/** Where the learners wait for data more than now and then: how much of their time. */
export function dataWait({ dataWait: share }: ProgressEvent): string {
  return share < 0.05 ? '' : `  ${Math.round(100 * share)}% wait for data`
}

export function evaluatedSentence(event: EvaluatedEvent): string {
  return `epoch ${event.epoch.toFixed(2)}: ${measured(event)}`
}

const WHY = {
  completed: '',
  accuracy: ' with the accuracy asked for',
  loss: ' with the loss asked for',
  seconds: ' as its time was up',
  patience: ' as nothing improved any more'
} as const satisfies Record<Exclude<FinishedEvent['reason'], 'stopped'>, string>

export function finishedSentence(event: FinishedEvent): string {
  const how = event.reason === 'stopped' ? colours.yellow('stopped') : colours.green(`finished${WHY[event.reason]}`)
  const kept = event.keptIteration < event.iterations ? `, the best, of iteration ${count(event.keptIteration)}` : ''
  const pace = `${count(event.imagesPerSecond)} images/s with ${event.learners} ${event.learners === 1 ? 'learner' : 'learners'}`
  return `${how} after ${event.epochs.toFixed(2)} epochs in ${duration(event.seconds)}: ${measured(event)}${kept}, ${pace}\nweights sha256 ${event.weightsSha256}`
}

type Measured = Pick<EvaluatedEvent, 'testAccuracy' | 'testTopK' | 'testLoss' | 'testPerplexity'>

function measured({ testAccuracy, testTopK, testLoss, testPerplexity }: Measured): string {
  const accuracy = testAccuracy === null ? '' : `test accuracy ${colours.bold(percent(testAccuracy))}, `
  const among = testTopK === undefined ? '' : `top-k accuracy ${percent(testTopK)}, `
  const perplexity = testPerplexity === undefined ? '' : ` (perplexity ${loss(testPerplexity)})`
  return `${accuracy}${among}test loss ${loss(testLoss)}${perplexity}`
}
