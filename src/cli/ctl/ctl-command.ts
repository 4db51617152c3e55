import { ArbalestError, unknownName } from '../../errors.js'
import { callJob, liveProcesses } from '../../runtime/live-processes.js'
import type { CommonFlags, DefineCommand } from '../command.js'
import { EXIT, type ExitCode } from '../exit.js'
import { invalidFlag } from '../flag-values.js'
import { external } from '../text.js'

/** A message to an actor of a run, as JSON. */
interface Call {
  readonly actor: string
  readonly method: string
  readonly args: readonly unknown[]
}

const NOTES = `
pause                     all learners rest before the next round, until resume
resume                    they go on
status                    round, iterations, learning rate, rule
population                the learners by place
resize LEARNERS           trains with so many; the tuner is off from then on
replace PLACE             another learner takes the place
tuning on|off             whether the tuner may change the number of learners
set NAME VALUE            learning-rate, alpha, momentum or period; learning-rate x0.5 halves that of the schedule
measure                   measures the central model now
save                      takes a checkpoint now
stop                      ends the run at its next round

Changes happen before the next round, are recorded, and can be repeated. Only the user who runs a job can reach it; ARBALEST_TOP=off in its environment hides it.`

const SETTINGS = { 'learning-rate': 'learningRate', alpha: 'alpha', momentum: 'momentum', period: 'period' } as const

/** By the word after `ctl`: how many values follow, and what is sent. */
const ACTIONS: Readonly<Record<string, { readonly values: number; readonly call: (values: readonly string[]) => Call }>> = {
  pause: { values: 0, call: () => message('synchroniser', 'pause') },
  resume: { values: 0, call: () => message('synchroniser', 'resume') },
  status: { values: 0, call: () => message('synchroniser', 'status') },
  population: { values: 0, call: () => message('supervisor', 'population') },
  resize: { values: 1, call: ([learners]) => message('supervisor', 'resize', numberOf('resize', learners!)) },
  replace: { values: 1, call: ([place]) => message('supervisor', 'replace', numberOf('replace', place!)) },
  tuning: { values: 1, call: ([on]) => message('supervisor', 'tuning', switchOf(on!)) },
  set: { values: 2, call: ([name, value]) => message('synchroniser', 'set', settingOf(name!, value!)) },
  measure: { values: 0, call: () => message('evaluator', 'measure') },
  save: { values: 0, call: () => message('checkpoints', 'save') },
  stop: { values: 0, call: () => message('run', 'stop') }
}

export const defineCtl: DefineCommand = (command, { finish }) => {
  command
    .argument('<action>', Object.keys(ACTIONS).join(', '))
    .argument('[values...]', 'the values of the action, then the id of the process, if several have jobs')
    .addHelpText('after', NOTES)
    .action(async (action: string, values: readonly string[], { json = false }: CommonFlags) => finish(await runCtl(action, values, json)))
}

/**
 * `arbalest ctl`: sends a message to the actors of a running job of this user, and prints the answer. Throws UNKNOWN_NAME for an action or a process that there
 * is not, and the error of the job.
 */
async function runCtl(action: string, given: readonly string[], json: boolean): Promise<ExitCode> {
  const call = callOf(action, given)
  const { pid, job } = await chosenJob(given[ACTIONS[action]!.values])
  const answer = await callJob(pid, job, call)
  process.stdout.write(json ? `${JSON.stringify({ event: 'ctl', pid, job, action, answer: answer ?? null })}\n` : `${told(answer)}\n`)
  return EXIT.done
}

/** The message of an action with its values. Throws UNKNOWN_NAME and INVALID_OPTION. */
export function callOf(action: string, given: readonly string[]): Call {
  const found = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined
  if (!found) throw unknownName('action', action, Object.keys(ACTIONS))
  const { values, call } = found
  if (given.length < values || given.length > values + 1)
    throw invalidFlag(
      action,
      given.join(' '),
      `give ${values === 0 ? 'no value' : `${values} value${values > 1 ? 's' : ''}`}, and a process if need be`
    )
  return call(given)
}

/** The only job, or that of the process. */
async function chosenJob(process: string | undefined): Promise<{ readonly pid: number; readonly job: string }> {
  const all = (await liveProcesses()).flatMap(({ pid, jobs }) => jobs.map(({ id }) => ({ pid, job: id })))
  const found = process === undefined ? all : all.filter(({ pid }) => String(pid) === process)
  const [first, ...others] = found
  if (!first) {
    const known = [...new Set(all.map(({ pid }) => String(pid)))]
    if (known.length > 0) throw unknownName('process', process, known)
    throw new ArbalestError('UNKNOWN_NAME', 'ctl: no job of this user runs here: start one', { data: { process } })
  }
  if (others.length > 0) {
    const known = [...new Set(found.map(({ pid }) => pid))].join(', ')
    throw invalidFlag('process', process ?? '', `${found.length} jobs run, in processes ${known}: name a process that has one`)
  }
  return first
}

function message(actor: string, method: string, ...args: readonly unknown[]): Call {
  return { actor, method, args }
}

function settingOf(name: string, value: string): Readonly<Record<string, unknown>> {
  const known = Object.keys(SETTINGS)
  if (!known.includes(name)) throw unknownName('set', name, known)
  const setting = SETTINGS[name as keyof typeof SETTINGS]
  if (setting === 'learningRate' && value.startsWith('x'))
    return { learningRate: { factor: numberOf('set learning-rate', value.slice(1)) } }
  if (setting === 'alpha' && value === 'auto') return { alpha: null }
  return { [setting]: numberOf(`set ${name}`, value) }
}

function switchOf(value: string): boolean {
  if (value === 'on' || value === 'off') return value === 'on'
  throw invalidFlag('tuning', value, 'use on or off')
}

function numberOf(what: string, text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value)) return value
  throw invalidFlag(what, text, 'use a number')
}

/** An answer in lines: `round 100`. Names may be of another program. */
function told(answer: unknown): string {
  if (answer === undefined || answer === null) return 'done'
  if (typeof answer !== 'object') return external(JSON.stringify(answer))
  return Object.entries(answer)
    .map(([name, value]) => external(`${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`))
    .join('\n')
}
