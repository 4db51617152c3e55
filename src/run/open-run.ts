import { JobScope } from '../actors/job-scope.js'
import { loadEngine } from '../engine/contract.js'
import type { PopulationEvent } from '../observe/events.js'
import type { Settings } from '../options/settings.js'
import { dryRunOf, plannedEvent } from './dry-run.js'
import { leaderOf, ownSettings, type Hosts } from './hosts/meeting.js'
import { Interventions } from './changes/interventions.js'
import type { JobControl } from './job.js'
import { prepareRun, type PreparedRun } from './prepare/prepare.js'
import { costWarnings } from './explain/run-cost.js'
import { unreachedOptions } from './explain/unreached-options.js'
import type { RunModules } from './run-modules.js'
import { SkippedSamples } from './skipped-samples.js'

/** A run that is prepared and has not ended. */
export interface OpenRun {
  readonly prepared: PreparedRun
  readonly modules: RunModules
  readonly scope: JobScope
  readonly control: JobControl
  readonly interventions: Interventions
  readonly skipped: SkippedSamples
  /** What was decided about the number of learners so far. */
  readonly decisions: readonly PopulationEvent[]
}

/** Prepares the run, and emits what can be told before it starts. Throws what `prepareRun` throws, and INVALID_OPTION. */
export async function openRun(settings: Settings, modules: RunModules, given: JobControl, hosts: Hosts | undefined): Promise<OpenRun> {
  const decisions: PopulationEvent[] = []
  const control: JobControl = {
    ...given,
    emit: (event) => {
      if (event.event === 'population') decisions.push(event)
      given.emit(event)
    }
  }
  const engine = await loadEngine(modules.engine.href)
  const warned = new Set<string>()
  const warn = (message: string) => {
    // Most hosts are alike, and warn of the same.
    if (!warned.has(message)) control.emit({ event: 'warning', message })
    warned.add(message)
  }
  const skipped = new SkippedSamples(control.emit, { overHosts: hosts !== undefined })
  leaderOf(hosts)?.forwardTo((event) => {
    if (event.event === 'warning') warn(event.message)
    else if (event.event === 'sampleSkipped') skipped.tell(event)
    else control.emit(event)
  })
  const whole = await prepareRun(settings, engine, modules.engine, control.stop, hosts)
  for (const message of costWarnings({ ...whole, settings: ownSettings(hosts, whole.settings) })) warn(message)
  for (const message of unreachedOptions(whole)) warn(message)
  if (settings.dryRun) control.emit(plannedEvent(whole))
  const prepared = settings.dryRun ? dryRunOf(whole) : whole
  const interventions = new Interventions({
    made: prepared.settings.changes,
    recorded: prepared.settings.interventions,
    emit: (event) => control.emit(event),
    stop: control.stop
  })
  return { prepared, modules, scope: new JobScope(engine, modules.engine), control, interventions, skipped, decisions }
}
