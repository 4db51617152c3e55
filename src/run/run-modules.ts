import type { HostsSpec } from '../engine/contract.js'
import type { Settings } from '../options/settings.js'
import type { SharedDevice } from './start/shared-device.js'

/** The modules that a run loads; tests replace them by fakes. */
export interface RunModules {
  /** Exports `engine`. */
  readonly engine: URL
  /** Exports a learner, as its default or as `Learner`: the built-in one is loaded in the same way as the user's own. */
  readonly learner: URL
  /** How this process meets the other hosts of the run; if omitted, as its launcher has started it. */
  readonly hosts?: HostsSpec
  /** The device that the run shares with other jobs; if omitted, it has the device for itself. */
  readonly shared?: SharedDevice
}

/** The learner that is not the user's own. */
export const BUILT_IN_LEARNER = new URL('../learner/built-in-learner.js', import.meta.url)

/** The run in a few words. */
export function titleOf({ model, data }: Pick<Settings, 'model' | 'data'>): string {
  const nameOf = (subject: Settings['model'] | Settings['data']) => (typeof subject === 'string' ? subject : subject.name)
  return `${nameOf(model)} on ${nameOf(data)}`
}
