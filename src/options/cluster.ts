import type { Faults } from '../schema/faults.js'
import { group, option, required, type CheckedOptions } from '../schema/group.js'
import { real, text, whole } from '../schema/values.js'
import { bytesPerSecondOf } from './link-rate.js'

const rate = text('a rate such as 200Mbit or 100Gbit')

/** The machines on which `predict` lets a model train. Hosts, racks and links are alike. */
export const clusterOptions = group({
  /** Machines that train together. */
  hosts: required(whole({ min: 1, max: 65_536 }), {
    text: 'predict training on so many machines, instead of explaining a step',
    flag: '--hosts <count>'
  }),
  /** GPUs of each host; 0, the default: its processor computes. */
  gpus: option(whole({ min: 0, max: 64 }), { text: 'with --hosts: GPUs of each', flag: '--gpus <count>', default: 0 }),
  /** Bits a second of each host's link to its rack, in each direction; `10Gbit` if omitted. */
  link: option(rate, { text: "with --hosts: the rate of a host's link, such as 25Gbit", flag: '--link <rate>', default: '10Gbit' }),
  /** How many times more the hosts of a rack can send than the rack's link to the others. 1, the default: nothing slows down what goes to another rack. */
  oversubscription: option(real({ min: 1, max: 1000 }), {
    text: "with --hosts: how many times more a rack's hosts can send than its link to other racks",
    flag: '--oversubscription <factor>',
    default: 1
  }),
  /** Hosts of a rack; 16 if omitted. */
  rack: option(whole({ min: 1, max: 65_536 }), { text: 'with --hosts: hosts of a rack', flag: '--rack <count>', default: 16 }),
  /** Bits a second of a GPU's links to the others of its host, in each direction; `3.6Tbit` if omitted. */
  gpuLink: option(rate, { text: "with --gpus: the rate of a GPU's links within its host", flag: '--gpu-link <rate>', default: '3.6Tbit' }),
  /** Bits a second of the link of a host without learners that sums for all; if omitted, there is no such host. */
  hub: option(rate, { text: 'with --hosts: the rate of a central hub that sums for all', flag: '--hub <rate>', otherwise: 'no hub' })
})

type Checked = CheckedOptions<typeof clusterOptions>

/** Rates in bytes a second. */
export interface ClusterSettings extends Omit<Checked, 'link' | 'gpuLink' | 'hub'> {
  readonly link: number
  readonly gpuLink: number
  readonly hub: number | undefined
}

export function clusterSettings(faults: Faults, { link, gpuLink, hub, ...checked }: Checked): ClusterSettings {
  const rateOf = (name: 'link' | 'gpuLink' | 'hub', given: string): number => {
    const found = bytesPerSecondOf(given)
    if (found === undefined) faults.refuse(name, given, 'use a rate in bits a second, such as 200Mbit or 100Gbit')
    return found ?? NaN
  }
  return {
    ...checked,
    link: rateOf('link', link),
    gpuLink: rateOf('gpuLink', gpuLink),
    hub: hub === undefined ? undefined : rateOf('hub', hub)
  }
}
