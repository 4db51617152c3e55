import { group, option, orShort, required, type CheckedOptions, type GivenOptions, type ToldByName } from '../schema/group.js'
import type { StepEvent } from '../observe/events.js'
import { callable, either, port, text, truth, whole } from '../schema/values.js'

const file = text('the path of a file to write')

const trace = group({
  file: required(file, { text: 'writes what the actors do, for Perfetto or chrome://tracing', flag: '--trace <file>' }),
  /**
   * The number of first steps of each learner that are shown in their segments, `load` and `exchange` among them; 20 if omitted. Later ones are shown as calls
   * of many steps, up to 50 ms each. Learners that share memory for activations, because there are more of them than cores, have their own from then on.
   */
  steps: option(whole(), {
    text: 'first steps of each learner that a trace shows in their segments, such as load and exchange',
    flag: '--trace-steps <count>',
    // Enough to see the parts of a step; the calls of many steps that follow are as fast as without a trace.
    default: 20
  })
})

/** Where the trace of a run is written, for Perfetto or chrome://tracing, and how fine it is. */
export interface TraceOptions extends GivenOptions<typeof trace>, ToldByName {}

const dashboard = group({
  /** The port of the page on 127.0.0.1; any that is free if omitted, or 0. */
  port: option(port(), {
    text: 'the port of the dashboard',
    flag: '--dashboard-port <port>',
    otherwise: 'any that is free'
  })
})

/** A page that shows the run in a browser while it trains. */
export interface DashboardOptions extends GivenOptions<typeof dashboard>, ToldByName {}

type OnStep = (step: StepEvent) => void | Promise<void>

/** A page that shows runs while they train. */
export const dashboardOption = option<boolean | DashboardOptions, boolean | CheckedOptions<typeof dashboard>>(
  either([truth(), dashboard], (value) => (typeof value === 'boolean' ? 0 : 1)),
  {
    text: 'serves a page on 127.0.0.1 that shows what trains in a browser',
    flag: '--dashboard',
    takes: 'true, false, or an object as below'
  }
)

export const recordOptions = {
  /**
   * Iterations from one `progress` event to the next, in every record of the run: the events come at the multiples of this number, so that the curves of two
   * runs have the same points. If omitted, events come a few times a second.
   */
  logEvery: option(whole({ min: 1 }), {
    text: 'iterations from one progress event to the next, so that the curves of runs have the same points',
    flag: '--log-every <iterations>',
    otherwise: 'a few events a second',
    also: ['log_every_n_steps', 'logEveryNSteps', 'logging_steps', 'loggingSteps', 'update_freq', 'updateFreq']
  }),
  /**
   * Called for each iteration, in order and without a gap, soon after it is done; several in a row, 20 times a second. A promise is awaited before the next
   * call. The learners wait if they are more than 8,192 iterations (or a round, if that is longer) ahead. An error that it throws ends the run as its failure. A
   * run that is stopped waits for a promise for at most another second, and makes no further calls then.
   */
  onStep: option(callable<OnStep>(), {
    text: 'called for each iteration',
    also: ['on_train_batch_end', 'onTrainBatchEnd', 'onBatchEnd']
  }),
  /** A file to which every event is appended as a line of JSON; `arbalest runs` reads it. */
  log: option(text('the path of a file'), { text: 'appends every event as a line of JSON; arbalest runs reads it', flag: '--log <file>' }),
  /** The same in a file of the run's own in this folder, which is made. */
  logDir: option(text('the path of a folder'), { text: "as --log, in a file of the run's own in this folder", flag: '--log-dir <folder>' }),
  /** A folder for TensorBoard: the run's curves, in a folder of its own. */
  tensorboard: option(text('the path of a folder'), { text: 'curves for TensorBoard', flag: '--tensorboard <folder>' }),
  /**
   * Serves a page on 127.0.0.1 that shows the run while it trains; `job.dashboard` has its address, with a secret. `true`, or its port. It costs nothing while no
   * browser shows it.
   */
  dashboard: dashboardOption,
  /** A port of 127.0.0.1 at which Prometheus reads the run's numbers, at `/metrics`; 0: any that is free. */
  metricsPort: option(port(), {
    text: 'a port of 127.0.0.1 at which Prometheus reads the numbers of the run',
    flag: '--metrics-port <port>'
  }),
  /** Writes what the actors do, for Perfetto or chrome://tracing: the file's path, alone or with options. */
  trace: option<string | TraceOptions, CheckedOptions<typeof trace>>(orShort(file, trace, 'file'))
}
