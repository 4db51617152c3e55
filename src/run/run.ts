import { loadEngine } from '../engine/contract.js'
import { codeOf, messageOf } from '../errors.js'
import { openSinks } from '../observe/open-sinks.js'
import { openSpans } from '../observe/open-spans.js'
import { runEvent } from '../observe/run-event.js'
import { EventSinks } from '../observe/sinks.js'
import { Trace } from '../observe/trace.js'
import type { Settings } from '../options/settings.js'
import { hostsSpecOf } from './hosts/hosts-spec.js'
import type { FollowedHosts, LedHosts } from './hosts/meeting.js'
import type { JobControl, JobOutcome } from './job.js'
import { runWithRetries } from './retries.js'
import { titleOf, type RunModules } from './run-modules.js'
import { runOnce } from './run-once.js'
import { StoppedEarly, stoppedEvent } from './stopped-early.js'

/** One run, from settings to the trained model. Every thread that it starts has ended when it returns or throws. */
export async function run(given: Settings, modules: RunModules, control: JobControl, name: string): Promise<JobOutcome> {
  const spec = modules.hosts ?? hostsSpecOf(given)
  if (!spec) return recorded(given, modules, control, name)
  const { joinHosts } = await import('./hosts/join.js')
  return joinHosts(await loadEngine(modules.engine.href), spec, given, control, {
    lead: (settings, led, hosts) => recorded(settings, modules, led, name, hosts),
    follow: (settings, following, hosts) => follow(settings, modules, following, hosts)
  })
}

/** A run on a host that is not the first one: it writes nothing. */
async function follow(settings: Settings, modules: RunModules, control: JobControl, hosts: FollowedHosts): Promise<JobOutcome> {
  try {
    return await runOnce({ ...settings, checkpoint: undefined }, modules, control, { hosts })
  } catch (error) {
    if (error instanceof StoppedEarly) return { finished: stoppedEvent(settings), model: undefined }
    throw error
  }
}

/** A run whose events are logged and that begins again if its loss is not finite. */
async function recorded(given: Settings, modules: RunModules, control: JobControl, name: string, hosts?: LedHosts): Promise<JobOutcome> {
  const { dryRun } = given
  // A dry run writes no files but its trace.
  const settings = dryRun ? { ...given, checkpoint: undefined } : given
  const sinks = dryRun ? new EventSinks() : await openSinks(given, name)
  try {
    sinks.write(runEvent(settings))
    const trace = settings.trace && sinks.add(new Trace(settings.trace, titleOf(settings)))
    const spans = dryRun ? undefined : await openSpans()
    if (spans) sinks.add(spans)
    let attempts = 0
    const outcome = await runWithRetries(settings, recording(control, sinks), (attempt, logged, keep) => {
      if (attempts++ > 0)
        hosts?.leader.order({ order: 'again', learningRateScale: attempt.learningRateScale, interventions: attempt.interventions })
      return runOnce(attempt, modules, logged, { hosts, keep, trace, spans })
    })
    sinks.write(outcome.finished)
    return outcome
  } catch (error) {
    if (error instanceof StoppedEarly) {
      const finished = stoppedEvent(settings)
      sinks.write(finished)
      return { finished, model: undefined }
    }
    const code = codeOf(error)
    sinks.write({ event: 'failed', code, message: messageOf(error) })
    throw error
  } finally {
    sinks.close()
  }
}

/** Writes each event to the sinks before the job emits it. */
function recording({ emit, ...control }: JobControl, sinks: EventSinks): JobControl {
  return {
    ...control,
    emit(event) {
      sinks.write(event)
      emit(event)
    }
  }
}
