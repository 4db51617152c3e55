/** How far a step could be shortened, in seconds. */
export interface Reachable {
  /** A step of ours on links that are not shaped. */
  readonly computing: number
  /** What the links need for a step's share of an average. */
  readonly link: number
  /** A step at best: under local SGD the learners wait for the average, under SMA it overlaps the next steps. */
  readonly step: number
  /** How many times longer the peer's step takes. */
  readonly gain: number
  /** The share of that gain that is reached. */
  readonly share: number
}

interface Exchange {
  readonly rule: 'sma' | 'local-sgd'
  readonly mbit: number
  readonly hosts: number
  readonly period: number
  /** Of all parameters. */
  readonly bytes: number
}

/** Seconds of steps. */
interface Measured {
  readonly computing: number
  readonly step: number
  readonly peerStep: number
}

export function reachable({ rule, mbit, hosts, period, bytes }: Exchange, measured: Measured): Reachable {
  const { computing } = measured
  const link = (2 * bytes * (hosts - 1)) / hosts / ((mbit * 1e6) / 8) / period
  const step = rule === 'sma' ? Math.max(computing, link) : computing + link
  return { computing, link, step, gain: measured.peerStep / step, share: step / measured.step }
}
