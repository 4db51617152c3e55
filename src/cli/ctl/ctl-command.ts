import type { Command } from 'commander'
import { ArbalestError, unknownName } from '../../errors.js'
import { callJob, liveProcesses, silent, type LiveJob, type LiveProcess } from '../../runtime/live-processes.js'
import type { CommonFlags, DefineCommand } from '../command.js'
import { EXIT } from '../exit.js'
import { invalidFlag, realNumber, wholeNumber } from '../flag-values.js'
import { count, external, learnerCount, loss, percent, tableLines } from '../text.js'

const NOTES = `
PID is the process of the run; it may be omitted if this user runs one job alone. Changes are made before the next round, while all learners rest,
and are recorded with that round: in the log, in checkpoints, and in the event \`finished\`.

Examples:
  arbalest ctl pause
  arbalest ctl set learning-rate 0.01          from here to the end
  arbalest ctl set learning-rate x0.5          half of what it would be
  arbalest ctl resize 4 12345`

/** What is sent to a run, and the line that tells of the answer. */
interface Control {
  readonly actor: string
  readonly method: string
  readonly args?: readonly unknown[]
  readonly place?: number
  readonly said: (answer: never) => string
}

interface Target extends CommonFlags {
  readonly job?: string
}

interface Place {
  readonly round: number
  readonly iteration: number
}

interface Status extends Place {
  readonly iterations: number
  readonly members: readonly number[]
  readonly paused: boolean
  readonly learningRate: number
}

interface Population {
  readonly places: readonly {
    readonly place: number
    readonly learner: number | null
    readonly state: string
    readonly steps: number
    readonly deaths: number
  }[]
}

interface Measurement extends Place {
  readonly samples: number
  readonly testLoss: number | null
  readonly testAccuracy: number | null
}

export const defineCtl: DefineCommand = (ctl, { finish }) => {
  const send = async (control: Control, pid: string | undefined, { json = false, job }: Target): Promise<void> => {
    const { said, ...call } = control
    const target = await chosenJob(pid === undefined ? undefined : wholeNumber('PID')(pid), job)
    const answer = (await callJob(target.pid, target.job.id, call)) as never
    const line = json
      ? JSON.stringify({ event: 'answered', pid: target.pid, job: target.job.id, ...call, answer: answer ?? null })
      : said(answer)
    process.stdout.write(`${line}\n`)
    finish(EXIT.done)
  }
  const define = (usage: string, description: string, control: (...args: readonly string[]) => Control) =>
    ctl
      .command(`${usage} [PID]`)
      .description(description)
      .allowExcessArguments(false)
      .action(async (...given: readonly unknown[]) => {
        const self = given.at(-1) as Command
        const texts = given.slice(0, -2) as string[]
        await send(control(...texts.slice(0, -1)), texts.at(-1), self.optsWithGlobals<Target>())
      })
  define('status', 'how far the run is, and by which numbers it trains', () => ({ actor: 'synchroniser', method: 'status', said: status }))
  define('population', 'the learners by place', () => ({ actor: 'supervisor', method: 'population', said: population }))
  define('pause', 'all learners rest before the next round, until `resume`', () => ({
    actor: 'synchroniser',
    method: 'pause',
    said: (at: Place) => `paused ${before(at)}`
  }))
  define('resume', 'the learners go on after a `pause`', () => ({ actor: 'synchroniser', method: 'resume', said: () => 'resumed' }))
  define('resize <learners>', 'train with this number of learners', (text) => ({
    actor: 'supervisor',
    method: 'resize',
    args: [wholeNumber('resize')(text)],
    said: (at: Place) => `${learnerCount(Number(text))} ${from(at)}`
  }))
  define('replace <place>', 'another learner takes this place, from the central model', (text) => ({
    actor: 'supervisor',
    method: 'replace',
    args: [wholeNumber('replace')(text)],
    said: (at: Place) => `a new learner in place ${text} ${from(at)}`
  }))
  define('tuning <on|off>', 'lets the tuner change the number of learners, or keeps it', (text) => ({
    actor: 'supervisor',
    method: 'tuning',
    args: [isOn(text)],
    said: (at: Place) => `tuning ${text} ${from(at)}`
  }))
  define('set <option> <value>', `changes ${Object.keys(SETTINGS).join(', ')}; momentum is the central model's`, (name, value) => ({
    actor: 'synchroniser',
    method: 'set',
    args: [setting(name, value)],
    said: (at: Place) => `${name} ${value} ${from(at)}`
  }))
  define('measure', 'measures the central model before the next round', () => ({
    actor: 'evaluator',
    method: 'measure',
    args: [],
    said: measured
  }))
  define('save', 'takes a checkpoint before the next round', () => ({
    actor: 'checkpoints',
    method: 'save',
    said: (folder: string) => `checkpoint in ${external(folder)}`
  }))
  define('stop', 'ends the run at its next round', () => ({ actor: 'run', method: 'stop', said: () => 'the run ends at its next round' }))
  ctl.option('--job <id>', 'which job of a process that runs several').addHelpText('after', NOTES)
}

/** The options that `set` changes, by name, with the values that they take. */
const SETTINGS: Readonly<Record<string, { readonly key: string; readonly value: (text: string) => unknown }>> = {
  'learning-rate': { key: 'learningRate', value: rate },
  alpha: { key: 'alpha', value: (text) => (text === 'auto' ? null : number(text)) },
  momentum: { key: 'momentum', value: number },
  period: { key: 'period', value: wholeNumber('period') }
}

function number(text: string): number {
  return realNumber('set')(text)
}

/** A rate, or after an x a factor of all rates to come. */
function rate(text: string): number | { readonly factor: number } {
  if (!text.startsWith('x')) return number(text)
  try {
    return { factor: number(text.slice(1)) }
  } catch {
    throw invalidFlag('set', text, 'use a number, or x and a number, such as x0.5')
  }
}

function setting(name: string, text: string): Readonly<Record<string, unknown>> {
  const found = Object.hasOwn(SETTINGS, name) ? SETTINGS[name] : undefined
  if (!found) throw unknownName('set', name, Object.keys(SETTINGS))
  return { [found.key]: found.value(text) }
}

function isOn(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on'
  throw invalidFlag('tuning', text, 'use on or off')
}

interface FoundJob {
  readonly pid: number
  readonly job: LiveJob
}

/** The job that is meant: the only one, or that of the process and the id. Throws UNKNOWN_NAME, and DEADLINE_EXCEEDED if its process may be one that does not answer. */
async function chosenJob(pid: number | undefined, id: string | undefined): Promise<FoundJob> {
  // What shares out a device among jobs is shown beside them, and takes no calls.
  const jobsOf = ({ pid: of, jobs }: LiveProcess) => jobs.filter(({ takesCalls }) => takesCalls).map((job): FoundJob => ({ pid: of, job }))
  const processes = await liveProcesses()
  const all = processes.flatMap(jobsOf)
  const ofProcess = pid === undefined ? all : all.filter((each) => each.pid === pid)
  // The job that is meant may be of a process that does not answer.
  const unheard = processes.filter((each) => each.isSilent && (pid === undefined || each.pid === pid)).map((each) => each.pid)
  if (unheard.length > 0 && (pid === undefined || ofProcess.length === 0)) throw silent(unheard)
  if (all.length === 0) throw new ArbalestError('UNKNOWN_NAME', 'PID: no job of this user runs here: start one', { data: { pid } })
  if (ofProcess.length === 0) throw unknownName('PID', pid, [...new Set(all.map((each) => String(each.pid)))])
  const meant = id === undefined ? ofProcess : ofProcess.filter(({ job }) => job.id === id)
  if (meant.length === 1) return meant[0]!
  const known = ofProcess.map((each) => `${each.pid} --job ${each.job.id} (${external(each.job.name)})`)
  if (id !== undefined)
    throw unknownName(
      '--job',
      id,
      ofProcess.map(({ job }) => job.id)
    )
  const several = ofProcess.every((each) => each.pid === ofProcess[0]!.pid) ? '--job' : 'PID'
  throw new ArbalestError('UNKNOWN_NAME', `${several}: several jobs run; use one of ${known.join(', ')}`, { data: { known } })
}

function before({ round, iteration }: Place): string {
  return `before round ${count(round)} (iteration ${count(iteration)})`
}

function from({ round, iteration }: Place): string {
  return `from round ${count(round)} (iteration ${count(iteration)}) on`
}

function status({ round, iterations, members, paused, learningRate }: Status): string {
  const state = paused ? 'paused' : 'training'
  return `${state}: round ${count(round)}, iteration ${count(iterations)}, ${learnerCount(members.length)}, learning rate ${learningRate.toPrecision(4)}`
}

function population({ places }: Population): string {
  return tableLines(
    [
      { title: 'place', cell: ({ place }) => String(place) },
      { title: 'learner', cell: ({ learner }) => (learner === null ? '-' : String(learner)) },
      { title: 'state', cell: ({ state }) => state, side: 'left' },
      { title: 'steps', cell: ({ steps }) => count(steps) },
      { title: 'deaths', cell: ({ deaths }) => count(deaths) }
    ],
    places
  ).join('\n')
}

function measured({ testAccuracy, testLoss, samples, ...at }: Measurement): string {
  const accuracy = testAccuracy === null ? '' : `test accuracy ${percent(testAccuracy)}, `
  return `${before(at)}: ${accuracy}test loss ${loss(testLoss ?? NaN)} on ${count(samples)} samples`
}
