import { comparison } from '../pairs.js'
import { median } from '../statistics.js'
import { rateName } from './cases.js'
import { reachableBy } from './pace.js'
import type { Pace } from './recorded-pace.js'
import type { Result } from './result.js'
import type { StepsOf } from './steps.js'
import { PEER_NAMES, TASKS, type PeerName, type TtaOnHosts } from './tta.js'

/**
 * Seconds to the target accuracy: steps, which do not depend on the links, times the seconds of a step on them, seed by seed and window by window. Ratios are those of the
 * peer's seconds by ours. `shareOfTime` compares the ratio with the gain that computing and the links allow with equally many steps.
 */
export function ttaFromSteps(found: readonly StepsOf[], pace: Pace, rules: readonly TtaOnHosts['rule'][]): readonly Result[] {
  const { model, hosts, mbit, period, mpi, torch, load } = pace
  const stepsOf = (method: string) => found.find((one) => one.method === method)!
  const secondsOf = (method: string) => {
    const windows = pace.seconds[method]!
    return stepsOf(method).steps.map((steps, seed) => steps * windows[seed % windows.length]!)
  }
  return rules.flatMap((rule) =>
    PEER_NAMES.map((peer: PeerName): Result => {
      const [ours, theirs] = [stepsOf(rule), stepsOf(peer)]
      const inverse = comparison(secondsOf(peer), secondsOf(rule))
      const allowed = reachableBy(pace, rule, peer)
      return {
        bench: 'hosts',
        case: `tta ${model} h${hosts} ${rateName(mbit)} ${rule}`,
        peer,
        unit: 's',
        peerMode: `PyTorch ${torch}`,
        ...inverse,
        value: inverse.peerValue,
        peerValue: inverse.value,
        target: TASKS[model].target,
        steps: ours.steps,
        peerSteps: theirs.steps,
        secondsPerStep: median(pace.seconds[rule]!),
        peerSecondsPerStep: median(pace.seconds[peer]!),
        reachable: allowed,
        shareOfTime: inverse.ratio / allowed.gain,
        rate: ours.learningRate,
        peerRate: theirs.learningRate,
        tuning: { ours: ours.tuning, peer: theirs.tuning },
        mostSteps: TASKS[model].steps,
        period,
        mpi,
        load
      }
    })
  )
}
