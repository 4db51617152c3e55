import type { Policy } from '../options/crossover.js'
import { median } from '../median.js'
import type { Alone, Finding, PolicyMeter } from './policy-meter.js'
import { isSame, type MeasuredPolicy, type SharingPolicy } from './sharing-policy.js'

/** What was measured of jobs alone, and by each policy. */
export interface PolicyComparison {
  readonly alone: Alone
  readonly found: readonly Finding[]
}

/** Jobs that are slowed down less evenly than this do not stay so. */
export const FAIR = 0.95
/** A policy that is hardly fair is measured evenly, too. */
const HARDLY_FAIR = 0.97
/** A policy that is this much faster than the present one takes its place. */
const BETTER = 1.02
/** Of a comparison. */
const ROUNDS = 3
/** A policy that is ahead of all others by this part after one round of a comparison, and after two rounds in both, is the fastest. */
const CLEAR = [0.25, 0.08]

/**
 * Measures every policy, or the given one, in turns with the jobs alone, so that a load that comes and goes disturbs all alike: the medians of some rounds. One
 * that is unfair is measured evenly, too, unless the jobs were to share the device plainly. Undefined where the meter could not measure.
 */
export async function comparePolicies(given: Policy, meter: PolicyMeter): Promise<PolicyComparison | undefined> {
  const policies: readonly SharingPolicy[] = given === 'auto' ? ['sequential', 'shared', 'crossed'] : [given]
  const allAlone: Alone[] = []
  const all: { readonly policy: SharingPolicy; readonly evenly: boolean; readonly findings: Finding[] }[] = policies.map((policy) => ({
    policy,
    evenly: false,
    findings: []
  }))
  for (let round = 0; round < ROUNDS; round++) {
    const alone = await meter.measureAlone()
    if (!alone) return undefined
    allAlone.push(alone)
    for (const { policy, evenly, findings } of all) {
      const finding = await meter.measurePolicy({ policy, evenly }, { alone, now: alone })
      if (!finding) return undefined
      findings.push(finding)
      const canWait = policy === 'crossed' || (policy === 'shared' && given === 'auto')
      if (round === 0 && !evenly && canWait && finding.jain < HARDLY_FAIR) all.push({ policy, evenly: true, findings: [] })
    }
    if (isClear(all.map(({ findings }) => findings))) break
  }
  return {
    alone: middle(allAlone, ({ rates }) => rates.reduce((sum, rate) => sum + rate)),
    found: all.map(({ findings }) => ({ ...middle(findings, ({ gain }) => gain), jain: median(findings.map(({ jain }) => jain)) }))
  }
}

/** The fastest that is fair; the present one unless another is clearly faster. */
export function bestOf(found: readonly Finding[], present: Finding | undefined): Finding {
  const fair = found.filter(({ jain }) => jain >= FAIR)
  const candidates = fair.length > 0 ? fair : [found.reduce((one, other) => (other.jain > one.jain ? other : one))]
  const fastest = candidates.reduce((one, other) => (other.gain > one.gain ? other : one))
  const again = present && candidates.find((finding) => isSame(finding, present))
  return again && fastest.gain < BETTER * again.gain ? again : fastest
}

/** The figures by which one of them was chosen, in words. */
export function reasonOf(found: readonly MeasuredPolicy[]): string {
  const each = ({ policy, evenly, gain, jain }: MeasuredPolicy) =>
    `${policy}${evenly ? ' evenly' : ''} ${gain.toFixed(2)}${jain < FAIR ? ` (unfair, ${jain.toFixed(2)})` : ''}`
  return found.map(each).join(', ') + ' times one after the other'
}

/** Whether the same policy is fair and clearly ahead in each round of a comparison. */
function isClear(all: readonly (readonly Finding[])[]): boolean {
  const rounds = all[0]!.length
  const least = CLEAR[rounds - 1] ?? Infinity
  return all.some((own) =>
    own.every(
      ({ gain, jain }, round) => jain >= HARDLY_FAIR && all.every((other) => other === own || gain >= (1 + least) * other[round]!.gain)
    )
  )
}

/** The value in the middle of them by a number. */
function middle<T>(values: readonly T[], by: (value: T) => number): T {
  return values.toSorted((a, b) => by(a) - by(b))[values.length >> 1]!
}
