import { group, option, type CheckedOptions, type GivenOptions, type ToldByName } from '../schema/group.js'
import { real, whole } from '../schema/values.js'

const supervision = group({
  /** How many learners may be replaced in one place within `window`; 3 if omitted, 0 for none. */
  restarts: option(whole(), { text: 'learners that may be replaced in one place within the window', default: 3 }),
  /** Milliseconds; a minute if omitted. */
  window: option(real({ above: 0, unit: 'milliseconds' }), { text: 'milliseconds in which restarts are counted', default: 60_000 }),
  /** Milliseconds without a step after which a learner that does not wait for others counts as dead; a minute if omitted. A learner tells of its steps every 50 ms. */
  deadline: option(real({ min: 100, max: 2 ** 31 - 1, unit: 'milliseconds' }), {
    text: 'milliseconds without a step after which a learner counts as dead',
    default: 60_000
  })
})

/** What happens to learners that die: each is replaced by one that starts from the central model, until too many have died in one place. */
export interface SupervisionOptions extends GivenOptions<typeof supervision>, ToldByName {}

/** When a learner that fails is replaced, and when it counts as failed. */
export interface SupervisionSettings extends CheckedOptions<typeof supervision> {}

export const supervisionOptions = {
  /** When learners that fail are replaced, and when they count as failed. */
  supervision: option<SupervisionOptions, SupervisionSettings, SupervisionOptions>(supervision, { default: {} })
}
