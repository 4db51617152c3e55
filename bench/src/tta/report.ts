import type { TtaCase, TtaRule, Tuning } from './cases.js'
import type { Estimate } from './estimate.js'
import { type PaceFile, type Paces } from './pace.js'
import { methodsOf, type Findings } from './plan.js'
import type { RunRecord } from './run.js'
import { summaries, type MethodSummary } from './summary.js'
import { WINDOW } from './target.js'

export const RULE_TITLES: Readonly<Record<TtaRule, string>> = { ssgd: 'S-SGD', sma: 'SMA', easgd: 'EA-SGD' }

/** The number of cores that other processes may keep busy before seconds become unreliable. */
const QUIET = 0.1

/** A case that has been begun: its results, and the contents of its files. */
export interface ReportedCase {
  readonly one: TtaCase
  readonly findings: Findings
  readonly records: readonly RunRecord[]
  readonly paces: PaceFile
}

/** The report of all cases that have been begun, as Markdown. */
export function reportOf(cases: readonly ReportedCase[]): string {
  return `# Time to accuracy

How long the same model takes to the same test accuracy under S-SGD, SMA and EA-SGD, with as many learners and as much tuning each. Written by
\`npm run bench -- tta\`, which repeats the method of [Koliousis et al., VLDB 2019](https://www.vldb.org/pvldb/vol12/p1399-koliousis.pdf); the runs
themselves are in \`tta-*.jsonl\` beside this.

- **Reached**: the first evaluation at which the median of the last ${WINDOW} is at least the target. The first single evaluation at the target is reported too.
- **Epochs** are passes over the training set by all learners together.
- **Seconds** are epochs times the pace of the method. The pace is the seconds of an epoch of training, without set-up and evaluation: the median of several turns, measured
  separately for all methods on one quiet machine.
- **Batch**: the samples of a learner's step. The best of a small grid for one learner, by seconds to the target. Under S-SGD k learners equal one learner with k times the batch.
- **Tuning**: every method has a grid of the same size, on seeds that are not measured; the fewest epochs to the target win. Momentum is that of the learners, mu that of the central
  model; SMA always has mu, because SMA without it is EA-SGD. Tuning runs that are too short for the target are ranked by their accuracy, those for the batch after equally many seconds.
- **Ratios** compare with S-SGD on the same seed with as many learners: above 1 the target is reached sooner. Figures are mean ± standard deviation over the runs that reached it;
  in the sentences below a table, ± is half of a 95% interval, which includes the spread of the paces for seconds.

${cases.map(section).join('\n')}`
}

function section({ one, findings, records, paces }: ReportedCase): string {
  const told = summaries(one, findings, paces.methods)
  const spent = records.reduce((sum, { spentSeconds }) => sum + spentSeconds, 0) / 60
  const lines = [
    `## ${one.title}: ${percent(one.target)}`,
    '',
    `${counted(records.length, 'run')}, ${counted(Math.round(spent), 'minute')}, on ${listed(records.map(({ machine }) => machine))}; commit ${listed(records.map(({ commit }) => commit))}.`,
    `${state(one, findings)} ${tunedOver(one)}`,
    '',
    ...(paces.methods ? [...paced(paces.methods), ''] : [])
  ]
  if (told.length === 0) return lines.join('\n')
  const plot = isDrawn({ one, findings, records, paces }) ? [`![${one.title}](tta-${one.name}.svg)`, ''] : []
  return [...lines, ...plot, ...table(told), '', ...remarks(told), ...atEnds(one, told), ''].join('\n')
}

/** Whether there are enough results for a plot: a run of every method, and the paces. */
export function isDrawn({ one, findings, paces }: ReportedCase): boolean {
  return paces.methods !== undefined && findings.measured.length >= methodsOf(one).length
}

function state({ runs }: TtaCase, { batch, left, measured }: Findings): string {
  const found = batch === undefined ? 'The batch is not known yet' : `Batch ${batch}`
  const whole =
    left === 0
      ? `${runs} measured runs each.`
      : `${measured.length} measured runs so far, ${left} runs are missing: the figures below are incomplete.`
  return `${found}; ${whole}`
}

function tunedOver(one: TtaCase): string {
  const { batches, epochs, evaluateEvery, finalists, tuningScale } = one
  const grid = (rule: TtaRule) => one.tunings[rule].map(tuningText).join('; ')
  return (
    `Batches tried: ${batches.join(', ')}. Tunings of S-SGD and EA-SGD: ${grid('ssgd')}; of SMA: ${grid('sma')}. ` +
    (finalists > 1 ? `The ${finalists} best of each grid were run on a second seed, and both decided. ` : '') +
    `${scheduleText(one)}; ` +
    `evaluated every ${evaluateEvery === 1 ? 'epoch' : `${evaluateEvery} epochs`}, given up after ${epochs} epochs` +
    (tuningScale === 1 ? '.' : `; tuning runs, with their schedules, are ${tuningScale} times as long.`) +
    (one.precision === 'bf16' ? ' All runs use bfloat16, with float32 master weights.' : '')
  )
}

function scheduleText({ schedule, drops, epochs }: TtaCase): string {
  if (schedule === 'one-cycle') return `The rate rises and falls once over ${epochs} epochs (one-cycle)`
  return drops.length > 0 ? `The rate drops to a tenth at epochs ${drops.join(' and ')}` : 'The rate is constant'
}

function paced({ machine, commit, otherWork }: Paces): readonly string[] {
  const where = `Paces: ${machine}; commit ${commit}.`
  if (otherWork <= QUIET) return [where]
  return [
    where,
    '',
    `> The machine had other work while paces were measured (${otherWork.toFixed(1)} cores): seconds are noisy, epochs are sound.`
  ]
}

function table(told: readonly MethodSummary[]): readonly string[] {
  const header = [
    'learners',
    'rule',
    'tuning',
    'reached',
    'epochs',
    'first at it',
    'seconds',
    's/epoch (least, greatest)',
    'epochs, S-SGD ÷ this',
    'seconds, S-SGD ÷ this'
  ]
  const rows = told.map((method) => [
    String(method.learners),
    RULE_TITLES[method.rule],
    tuningText(method.tuning),
    `${method.reached} of ${method.runs}`,
    figure(method.epochs, 2),
    figure(method.firstEpochs, 2),
    figure(method.seconds, 1),
    pace(method.secondsAnEpoch),
    figure(method.fewerEpochs, 2),
    figure(method.sooner, 2)
  ])
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const rule = header.map((_, column) => (column < 3 ? ':--' : '--:'))
  return [header, rule, ...rows].map(line)
}

/** The figures in words. A difference within the spread of the ratios counts as none. */
function remarks(told: readonly MethodSummary[]): readonly string[] {
  const rivals = told.filter(({ rule }) => rule !== 'ssgd')
  return rivals.map((method) => {
    const rival = told.find(({ rule, learners }) => rule === 'ssgd' && learners === method.learners)
    const who = `- ${RULE_TITLES[method.rule]}, ${method.learners} learner${method.learners > 1 ? 's' : ''}:`
    if (method.reached < method.runs) return `${who} reached the target in ${method.reached} of ${method.runs} runs only.`
    const beside =
      rival && 0 < rival.reached && rival.reached < rival.runs
        ? `, on the ${rival.reached} of ${rival.runs} seeds with which S-SGD reached it`
        : ''
    return `${who} ${verdict(method.fewerEpochs, 'epochs')}${method.secondsAnEpoch ? `, ${verdict(method.sooner, 'seconds')}` : ''}${beside}.`
  })
}

/** The methods whose best rate lies at an end of the grid: one beyond it may be better. */
function atEnds({ tunings }: TtaCase, told: readonly MethodSummary[]): readonly string[] {
  const ending = told.filter(({ rule, tuning }) => {
    const rates = tunings[rule]
      .filter(({ momentum, syncMomentum }) => momentum === tuning.momentum && syncMomentum === tuning.syncMomentum)
      .map(({ rate }) => rate)
    return tuning.rate === Math.min(...rates) || tuning.rate === Math.max(...rates)
  })
  if (ending.length === 0) return []
  const names = ending.map(({ rule, learners }) => `${RULE_TITLES[rule]} with ${learners}`)
  return [`- The best rate lies at an end of its grid, so that a wider one might do better: ${names.join(', ')}.`]
}

/** A difference counts if 1 lies outside of the 95% interval; that of two seeds hardly ever does. */
function verdict(ratio: Estimate | undefined, what: string): string {
  if (!ratio) return `S-SGD did not reach it, so that ${what} cannot be compared`
  if (ratio.n < 2) return `${what} by one pair of runs alone (${ratio.mean.toFixed(2)})`
  const { mean, error } = ratio
  const sides = `${mean.toFixed(2)} ± ${error.toFixed(2)}`
  if (mean - error > 1) return `fewer ${what} than S-SGD (${sides})`
  if (mean + error < 1) return `more ${what} than S-SGD (${sides})`
  return `${what} not to be told from S-SGD's (${sides})`
}

function tuningText({ rate, momentum, syncMomentum }: Tuning): string {
  return [`rate ${rate}`, ...(momentum > 0 ? [`momentum ${momentum}`] : []), ...(syncMomentum > 0 ? [`mu ${syncMomentum}`] : [])].join(', ')
}

function figure(value: Estimate | undefined, digits: number): string {
  if (!value) return '–'
  return value.n > 1 ? `${value.mean.toFixed(digits)} ± ${value.deviation.toFixed(digits)}` : value.mean.toFixed(digits)
}

function pace(rounds: MethodSummary['secondsAnEpoch']): string {
  if (!rounds) return '–'
  const [least, middle, greatest] = rounds.map((seconds) => seconds.toPrecision(3))
  return `${middle} (${least}, ${greatest})`
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

/** Each name once. */
function listed(names: readonly string[]): string {
  return [...new Set(names)].join('; ')
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(4))}%`
}
