import type {
  ColumnReport,
  EvaluatedEvent,
  FinishedEvent,
  IntervenedEvent,
  JobEvent,
  HostLostEvent,
  LearnerLostEvent,
  ExchangeEvent,
  LevelsEvent,
  PlannedEvent,
  PlannedProgram,
  PopulationEvent,
  ProgressEvent,
  ResumedEvent,
  SetAsideEvent,
  StartedEvent,
  WentBackEvent
} from '../../index.js'
import { changedValues } from '../../observe/changed-values.js'
import { numbersText } from '../models/metric-tables.js'
import { colours } from '../terminal.js'
import { bytes, count, duration, external, iterationCount, learnerCount, loss, percent, tableLines, type Column } from '../text.js'

/** The message of an event, the same on a terminal and in a file; undefined for an event that only the progress shows. */
export function eventMessage(event: Exclude<JobEvent, ProgressEvent>): string | undefined {
  switch (event.event) {
    case 'planned':
      return planned(event)
    case 'warning':
      return `${colours.yellow('warning')}: ${external(event.message)}`
    case 'started':
      return started(event)
    case 'levels':
      return levels(event)
    case 'exchange':
      return exchange(event)
    case 'setAside':
      return event.checkpoints.map(setAside).join('\n')
    case 'resumed':
      return resumed(event)
    case 'checkpoint':
      // Only a failure is worth a line.
      return event.reason === null
        ? undefined
        : `${colours.yellow('no checkpoint')} of iteration ${count(event.iteration)}: ${external(event.reason)}`
    case 'logged':
      return undefined
    case 'intervened':
      return intervened(event)
    case 'wentBack':
      return wentBack(event)
    case 'learnerLost':
      return learnerLost(event)
    case 'hostLost':
      return hostLost(event)
    case 'sampleSkipped':
      return `${colours.yellow(`${external(event.item)} was skipped`)}: ${external(event.reason)}; ${event.skipped} so far`
    case 'population':
      return population(event)
    case 'evaluated':
      return `epoch ${event.epoch.toFixed(2)}: ${measurement(event)}`
    case 'finished':
      return finished(event)
  }
}

/** A change that a program or `arbalest ctl` made to the run; nothing for a learner's death, which has an event of its own. */
function intervened({ intervention, error }: IntervenedEvent): string | undefined {
  const { round, iteration, kind } = intervention
  if (kind === 'death' || kind === 'join') return undefined
  const what = `${kind} ${changedValues(intervention)}`.trim()
  const failure = error ? `: ${colours.yellow(external(`${error.code}: ${error.message}`))}` : ''
  return `${colours.cyan('changed')} before round ${count(round)} (iteration ${count(iteration)}): ${external(what)}${failure}`
}

/** Part of a line of progress: how much of their time learners wait for data, if it is more than a few percent. */
export function dataWait({ dataWait: share }: ProgressEvent): string {
  return share < 0.05 ? '' : `  ${Math.round(100 * share)}% wait for data`
}

/** The result of `--overfit`: the model can learn the samples if the loss falls to a tenth, which chance cannot reach. */
export function overfitResult(before: number, after: number): { readonly learnt: boolean; readonly text: string } {
  const learnt = after <= before / 10
  const text = learnt
    ? colours.green(`the loss collapsed from ${loss(before)} to ${loss(after)}: the model can learn these samples`)
    : colours.yellow(
        `the loss did not collapse: ${loss(before)} to ${loss(after)}; check learning rate, labels and model, or use more --steps`
      )
  return { learnt, text }
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

function planned({ programs, learners, stepsAnEpoch, steps, bytesPerLearner, bytesShared, bytesFree }: PlannedEvent): string {
  const [titles, ...lines] = tableLines(PROGRAM_COLUMNS, programs)
  const memory = `${count(learners)} x ${bytes(bytesPerLearner)} for learners and ${bytes(bytesShared)} shared, of ${bytes(bytesFree)} free`
  return [colours.dim(titles), ...lines, `${count(steps)} steps of each learner, ${count(stepsAnEpoch)} per epoch; ${memory}`].join('\n')
}

function started(event: StartedEvent): string {
  return [
    `${colours.bold(external(event.model))} on ${colours.bold(external(event.data))}: ${count(event.parameters)} parameters, ${count(event.samples)} samples;`,
    `${learnerCount(event.learners)} with batches of ${event.batch}, ${external(event.synchroniser)}, ${event.precision}, seed ${event.seed};`,
    `${iterationCount(event.iterations)}; ${bytes(event.bytesPerLearner)} per learner and ${bytes(event.bytesShared)} shared${restored(event)}`
  ]
    .join(' ')
    .concat(columnsFound(event))
}

/** More columns of a table are not listed. */
const MOST_COLUMNS = 40

const REPORT_COLUMNS: readonly Column<ColumnReport>[] = [
  { title: 'column', cell: ({ name }) => external(name), side: 'left' },
  { title: 'is', cell: ({ kind }) => kind, side: 'left' },
  { title: 'missing', cell: ({ missing }) => (missing === 0 ? '' : count(missing)) },
  { title: 'values', cell: ({ values }) => (values === undefined ? '' : count(values)) },
  { title: 'features', cell: ({ features }) => (features === 0 ? '' : count(features)) },
  { title: '', cell: ({ reason = '' }) => external(reason), side: 'left' }
]

/** What was found in a table, in lines of their own. */
function columnsFound({ columns = [] }: StartedEvent): string {
  if (columns.length === 0) return ''
  const [titles, ...lines] = tableLines(REPORT_COLUMNS, columns.slice(0, MOST_COLUMNS))
  const more = columns.length > MOST_COLUMNS ? [`and ${count(columns.length - MOST_COLUMNS)} more columns`] : []
  return ['', colours.dim(titles), ...lines, ...more].join('\n')
}

function restored({ recomputedBytes, movedBytes = 0, predictedSlowdown = 1 }: StartedEvent): string {
  if (recomputedBytes === undefined) return ''
  const moves = movedBytes > 0 ? ` and moves ${bytes(movedBytes)}` : ''
  return `; to fit, a step computes ${bytes(recomputedBytes)} again${moves}: ${predictedSlowdown.toFixed(2)} times its time, as predicted`
}

function exchange({ mode, reason }: ExchangeEvent): string {
  return `${colours.cyan('hosts')}, summed by exchange ${mode}: ${external(reason)}`
}

function levels({ devices, levels: names, reason }: LevelsEvent): string {
  const subject = devices.length > 1 ? `${devices.length} devices` : 'one device'
  return `${colours.cyan(subject)}, averaged by ${['learners', ...names].join(', ')}: ${external(reason)}`
}

const END_REASONS = {
  completed: '',
  accuracy: ' because it reached the accuracy',
  loss: ' because it reached the loss',
  seconds: ' because its time was up',
  patience: ' because it improved no more'
} as const satisfies Record<Exclude<FinishedEvent['reason'], 'stopped'>, string>

/** What lets a run go on that has ended for a reason, and what a new run needs. */
const MORE = {
  completed: 'more --epochs or --steps than before',
  accuracy: 'a higher --until-accuracy',
  loss: 'a lower --until-loss',
  seconds: 'more --seconds',
  patience: 'more --patience'
} as const satisfies Record<NonNullable<ResumedEvent['ended']>, string>

function resumed({ iteration, folder, ended }: ResumedEvent): string {
  const from = `${colours.cyan('resumed')} at iteration ${count(iteration)} from ${external(folder)}`
  if (ended === undefined) return from
  return `${from}, where the run was ${colours.yellow('complete')}${END_REASONS[ended]}: nothing is left to train. Give ${MORE[ended]} to go on, or another --checkpoint-dir to begin anew`
}

function setAside({ folder, movedTo, reason }: SetAsideEvent['checkpoints'][number]): string {
  return `${colours.yellow('moved aside')}: ${external(folder)} to ${external(movedTo)}: ${external(reason ?? 'the run does not go on from it')}`
}

function wentBack({ iteration, learningRateScale, retries }: WentBackEvent): string {
  const left = `${retries} more ${retries === 1 ? 'retry' : 'retries'}`
  return `${colours.yellow('went back')}: the loss was not finite at iteration ${count(iteration)}; learning rates times ${learningRateScale} (${left})`
}

function learnerLost({ learner, round, reason, replacedBy, vacant }: LearnerLostEvent): string {
  const unreplaced = vacant ? 'the others go on without it' : 'too many have failed in its place'
  const next = replacedBy === null ? unreplaced : `learner ${replacedBy} starts in its place`
  return `${colours.yellow(`learner ${learner} was lost`)} in round ${round}: ${external(reason)}; ${next}`
}

function hostLost({ host, round, reason, hosts, learners }: HostLostEvent): string {
  const left = `${hosts === 1 ? '1 host goes' : `${hosts} hosts go`} on with ${learnerCount(learners)}`
  return `${colours.yellow(`host ${host} was lost`)} before round ${round}: ${external(reason)}; ${left}`
}

function population({ round, from, to, reason }: PopulationEvent): string {
  const subject = from === to ? learnerCount(to) : `${from} -> ${to} learners`
  return `${colours.cyan(subject)} at round ${round}: ${external(reason)}`
}

/** In the last line of a run that lacks one. */
export const NOT_ALL_CHECKPOINTS = 'not every checkpoint could be written'

function finished(event: FinishedEvent): string {
  if (event.weightsSha256 === '') return `${colours.yellow('stopped')} while the run was being prepared: nothing was trained`
  const how = event.reason === 'stopped' ? colours.yellow('stopped') : colours.green(`finished${END_REASONS[event.reason]}`)
  const kept = event.keptIteration < event.iterations ? `, the best, of iteration ${count(event.keptIteration)}` : ''
  const missing = event.checkpoints === 'incomplete' ? `\n${colours.red('incomplete')}: ${NOT_ALL_CHECKPOINTS}` : ''
  const hint = event.hint === undefined ? '' : `\n${colours.yellow('hint')}: ${external(event.hint)}`
  const throughput = `${count(event.imagesPerSecond)} samples/s with ${learnerCount(event.learners)}`
  return `${how} after ${event.epochs.toFixed(2)} epochs in ${duration(event.seconds)}: ${measurement(event)}${kept}, ${throughput}\nweights sha256 ${event.weightsSha256}${hint}${missing}`
}

type Measured = Pick<EvaluatedEvent, 'testAccuracy' | 'testTopK' | 'testLoss' | 'testPerplexity' | 'testMetrics'>

function measurement({ testAccuracy, testTopK, testLoss, testPerplexity, testMetrics = {} }: Measured): string {
  const accuracy = testAccuracy === null ? '' : `test accuracy ${colours.bold(percent(testAccuracy))}, `
  const topK = testTopK === undefined ? '' : `top-k accuracy ${percent(testTopK)}, `
  const perplexity = testPerplexity === undefined ? '' : ` (perplexity ${loss(testPerplexity)})`
  const metrics = numbersText(testMetrics)
  return `${accuracy}${topK}test loss ${loss(testLoss)}${perplexity}${metrics === '' ? '' : `, ${metrics}`}`
}
