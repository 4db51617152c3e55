import { crossover, type CrossoverEvent, type Job, type JobEvent } from '../index.js'
import { isFirstProcess } from '../hosts/tenants.js'
import type { CommonFlags, DefineCommand } from './command.js'
import { addCrossoverFlags, asTypedToCrossover, crossoverJobs, crossoverOptionsOf } from './crossover-flags.js'
import { EXIT, type ExitCode } from './exit.js'
import type { FlagValues } from './option-flags.js'
import type { OutputLoss } from './output-loss.js'
import { PlainLines } from './reporters/plain-lines.js'
import type { Output } from './reporters/reporter.js'
import { StopOnSignal } from './stop-on-signal.js'
import { tellDashboard } from './tell-dashboard.js'
import { external } from './text.js'

const NOTES = `
Examples:
  arbalest crossover a.config.ts b.config.ts
  arbalest crossover a.config.ts b.config.ts --policy crossed --share 2:1
  arbalest crossover a.config.ts b.config.ts --hosts loopback --link 200Mbit --json

Each job ends with the weights that it ends with alone. With --json every line of a job has its
number as "job", and the last line is {"event":"finished","policy":..,"gain":..,"jobs":[..]}.`

export const defineCrossover: DefineCommand = (command, { output, finish }) => {
  addCrossoverFlags(command)
  command
    .addHelpText('after', NOTES)
    .action(async (configs: readonly string[], { json = false, stack: _, ...values }: CommonFlags & FlagValues) => {
      try {
        finish(await runCrossover({ configs, values, json, output }))
      } catch (error) {
        throw asTypedToCrossover(error, configs, values)
      }
    })
}

interface CrossoverRun {
  readonly configs: readonly string[]
  readonly values: FlagValues
  readonly json: boolean
  readonly output: OutputLoss
}

/** `arbalest crossover`: runs the jobs and reports their events. Fails if one of them fails or lacks a checkpoint. */
async function runCrossover({ configs, values, json, output }: CrossoverRun): Promise<ExitCode> {
  const all = crossover(await crossoverJobs(configs, values), crossoverOptionsOf(values))
  using signals = new StopOnSignal(() => all.stop())
  output.continueAfterLoss((exitCode) => exitCode === EXIT.brokenPipe && all.stop())
  const show = json ? (event: CrossoverEvent) => process.stdout.write(`${JSON.stringify(event)}\n`) : plainLines(configs)
  all.dashboard.then(
    (url) => (url === undefined ? tellDashboards(all.jobs, json) : tellDashboard(url, json)),
    () => {}
  )
  let failed = false
  // Over several hosts the first one speaks for all.
  const isHeard = isFirstProcess()
  for await (const event of all) {
    if (isHeard && !output.isLost) show(event)
    failed ||= event.event === 'failed' || lacksCheckpoint(event)
  }
  return failed ? EXIT.failed : (signals.exitCode ?? EXIT.done)
}

/** Whether this is the end of a job of which not every checkpoint could be written. */
function lacksCheckpoint(event: CrossoverEvent): boolean {
  return event.event === 'finished' && 'job' in event && event.checkpoints === 'incomplete'
}

/** The pages that jobs have by their own options. A job whose port cannot be had fails with that itself. */
function tellDashboards(jobs: readonly Job[], json: boolean): void {
  for (const [job, { dashboard }] of jobs.entries())
    dashboard.then(
      (url) => tellDashboard(url, json, job),
      () => {}
    )
}

/** Lines of text, each with its job's number in front. */
function plainLines(configs: readonly string[]): (event: CrossoverEvent) => void {
  const write = (text: string) => process.stdout.write(`${text}\n`)
  const reporters = configs.map(
    (_, job) =>
      new PlainLines({ write: (text: string) => write(text.trimEnd().replaceAll(/^/gm, `job ${job}: `)) } as unknown as Output, {
        verbose: true
      })
  )
  return (event) => {
    if (event.event === 'crossover') write(`device: ${event.policy}${gainText(event.gain)} (${event.reason})`)
    else if (event.event === 'failed') write(`job ${event.job}: ${event.code}: ${external(event.message)}`)
    else if ('job' in event) reporters[event.job]!.show(event satisfies JobEvent)
    else {
      const { policy, measured, gain, predictedGain, jain, jobs } = event
      if (!measured) return write(`device: ${policy}; not measured: the jobs were together for too short a time`)
      const slowdowns = jobs.map(({ slowdown }, job) => `job ${job} ${slowdown.toFixed(2)} times`).join(', ')
      write(
        `device: ${policy}${gainText(gain)} (at most ${predictedGain.toFixed(2)} by prediction); slowed down: ${slowdowns}; Jain's index ${jain.toFixed(3)}`
      )
    }
  }
}

function gainText(gain: number): string {
  return `, ${gain.toFixed(2)} times as fast as one after the other`
}
