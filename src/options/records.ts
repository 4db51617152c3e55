import { group, option, orShort, required, type CheckedOptions, type GivenOptions } from '../schema/group.js'
import { text, whole } from '../schema/values.js'

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
export interface TraceOptions extends GivenOptions<typeof trace> {}

export const recordOptions = {
  /** A file to which every event is appended as a line of JSON; `arbalest runs` reads it. */
  log: option(text('the path of a file'), { text: 'appends every event as a line of JSON; arbalest runs reads it', flag: '--log <file>' }),
  /** The same in a file of the run's own in this folder, which is made. */
  logDir: option(text('the path of a folder'), { text: 'the same in a file of its own in this folder', flag: '--log-dir <folder>' }),
  /** A folder for TensorBoard: the run's curves, in a folder of its own. */
  tensorboard: option(text('the path of a folder'), { text: 'curves for TensorBoard', flag: '--tensorboard <folder>' }),
  /** Writes what the actors do, for Perfetto or chrome://tracing: the file's path, alone or with options. */
  trace: option<string | TraceOptions, CheckedOptions<typeof trace>>(orShort(file, trace, 'file'))
}
