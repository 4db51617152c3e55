import { BACKENDS, type BackendName, type EngineBackend } from '../compiler/program.js'
import type { GroupRule, LevelName, RulePlace, SumOrder } from '../engine/contract.js'
import { usableProcessors } from '../engine/machine.js'
import { knownCapabilities } from '../engine/native.js'
import { invalidOption } from '../errors.js'
import type { Faults } from '../schema/faults.js'
import { deviceMemoryOption } from './device-memory.js'
import { group, option, required, type CheckedOptions, type GivenOptions, type ToldByName } from '../schema/group.js'
import { wholeFromText, type FromText } from '../schema/from-text.js'
import { either, list, oneOf, text, whole, type Schema } from '../schema/values.js'
import { bytesPerSecondOf } from './link-rate.js'
import { needsNorm, type OptimiserSettings } from './optimiser.js'

const EXCHANGES = ['auto', 'sharded', 'racks', 'ring'] as const

export type ExchangeName = (typeof EXCHANGES)[number]

/** No machine has more GPUs. */
const MOST_DEVICES = 1024

const device = group({
  /** Cores by their numbers in the system. */
  cores: required(list(whole(), 'the numbers of its cores, such as [0, 1]', { min: 1 }))
})

/** Cores by their numbers in the system. */
export interface DeviceOptions extends GivenOptions<typeof device>, ToldByName {}

const devices = either(
  [
    whole({ min: 1, max: MOST_DEVICES }),
    list<DeviceOptions, DeviceOptions>(device, 'their number, or a list such as [{ cores: [0, 1] }, { cores: [2, 3] }]', { min: 1 })
  ],
  (value) => (typeof value === 'number' ? 0 : 1)
)

/** A number, or the cores of each device, as in `0-3:4-7` or `0,2:1,3`. */
export const devicesFromText: FromText = (given, refuse) => {
  if (!/[:,-]/.test(given)) return wholeFromText(given, refuse)
  const coresOf = (range: string): number[] => {
    const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(range) ?? []
    if (first === undefined || Number(last) < Number(first)) throw refuse('use a number, or the cores of each device, as in 0-3:4-7')
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i)
  }
  return given.split(':').map((cores) => ({ cores: cores.split(',').flatMap(coresOf) }))
}

const racks = list<readonly number[], readonly number[]>(
  list(whole(), 'ranks, such as [0, 1]', { min: 1 }),
  'ranks by rack, such as [[0, 1], [2, 3]]',
  { min: 1 }
)

/** `0,1;2,3` */
const racksFromText: FromText = (given, refuse) => {
  if (!/^\d+(,\d+)*(;\d+(,\d+)*)*$/.test(given)) throw refuse('use ranks by rack, as in 0,1;2,3')
  return given.split(';').map((rack) => rack.split(',').map(Number))
}

export const backendName = oneOf(BACKENDS, { gpu: 'a GPU is cuda' })

/** The stand-in for GPUs, which tests use, is accepted and not listed. */
const backend = either([backendName, oneOf(['cuda-host'])], (value) => (value === 'cuda-host' ? 1 : 0)) as Schema<
  BackendName,
  EngineBackend
>

const HALF = 'there is no half precision but bf16'
const PRECISIONS_ELSEWHERE = {
  float32: 'that is f32',
  fp32: 'that is f32',
  bfloat16: 'that is bf16',
  'bf16-mixed': 'that is bf16',
  mixed_bfloat16: 'that is bf16',
  float16: HALF,
  fp16: HALF,
  '16-mixed': HALF
}

export const devicesOptions = {
  /** The element type of weights and activations in computations; `f32` if omitted. */
  precision: option(oneOf(['f32', 'bf16'], PRECISIONS_ELSEWHERE), {
    text: 'f32, or bf16 if the processor has it',
    flag: '--precision <type>',
    default: 'f32',
    also: ['dtype', 'mixedPrecision', 'mixed_precision', 'amp', 'bf16', 'fp16']
  }),
  /** `cpu` if omitted; `cuda` for NVIDIA GPUs, `reference` for plain loops to compare with. */
  backend: option(backend, {
    text: 'cpu, cuda (NVIDIA GPUs) or reference (plain loops)',
    flag: '--backend <name>',
    also: ['device', 'accelerator'],
    takes: BACKENDS.join(', '),
    default: 'cpu'
  }),
  /**
   * Groups of cores, such as the sockets of a machine: their number, or the cores of each. Learners are spread over them and keep to their device's cores; each
   * device sums what its learners contribute and has its own copy of the central model. 1 if omitted: all cores. Under backend `cuda` they are the machine's
   * GPUs, device i being GPU i, and `cores` those that drive it. See docs/synchronisers.md.
   */
  devices: option(devices, {
    text: 'groups of cores, or GPUs, that average among themselves first: their number, or cores as 0-3:4-7',
    flag: '--devices <cores>',
    also: ['gpus'],
    fromText: devicesFromText,
    takes: 'whole number from 1 to 1024, or a list such as [{ cores: [0, 1] }, { cores: [2, 3] }]',
    otherwise: '1'
  }),
  /**
   * The most memory that the run takes of each device, for all that it holds there: bytes (`'2GiB'`, `'800MiB'`, a number), a part of the device's memory
   * (`'75%'`), or `'auto'`, the default: what is free. Where a training step does not fit, activations are computed again in the backward pass instead of
   * being held; every bit of the weights stays the same. With `'auto'` that is done up to a predicted slowdown of 1.5, otherwise down to the least that is
   * possible. See docs/memory.md.
   */
  deviceMemory: deviceMemoryOption,
  /**
   * A folder on a disk: activations that do not fit into the device's memory may also be moved there and fetched back, where that is predicted to take less
   * time than computing them again. They lie in a file without a name, which ends with the process; a fast disk wears out by terabytes a day. Omitted,
   * nothing is written to a disk. GPUs move values to the memory of their host and need no folder. See docs/memory.md.
   */
  spill: option(text('a folder on a disk'), {
    text: 'a folder on a disk, to which activations may be moved that do not fit into memory',
    flag: '--spill <folder>',
    otherwise: 'nothing is written'
  }),
  /**
   * `auto`: all processes that a launcher (mpirun, srun, `arbalest launch`) has started train together; one that was started alone trains alone. `none`: each
   * process trains for itself. `loopback`: what would be sent to other hosts comes back from this one. `auto` if omitted. See docs/clusters.md.
   */
  hosts: option(oneOf(['auto', 'none', 'loopback']), {
    text: 'auto: the processes of a launcher train together; none: each trains alone; loopback: one process, to try out averaging over hosts',
    flag: '--hosts <name>',
    default: 'auto'
  }),
  /**
   * With several hosts, where their sums become the next central model. `all`: each host applies the rule to all sums. `owners`: the host that makes a sum applies the
   * rule to it at once and sends the new weights, so that each host does its part alone and keeps only its part of the states of the rule's optimiser. The
   * weights are the same, bit for bit. Refused with `clipNorm` and `lars` under a rule that exchanges gradients: they need the norm of the whole gradient. After
   * the loss of a host the others cannot go on without a restart. `all` if omitted; where there are hubs `owners`, unless the norm is needed.
   */
  ruleAt: option(oneOf(['all', 'owners']), {
    text: 'with several hosts: all, each applies the rule to all sums; owners, the one that makes a sum does and sends new weights',
    flag: '--rule-at <hosts>',
    otherwise: 'all; owners with a hub'
  }),
  /**
   * With several hosts, in which order the owner of a part adds what they send. `ranks`: that of their ranks, so that the same run ends with the same weights. `arrival`: each part
   * is added as soon as it comes, while others are on their way; with three hosts or more the last bits of the weights then depend on the network, and no run can be repeated
   * bit for bit. Refused with exchange `racks`, `ring` and `auto`, and on GPUs. `ranks` if omitted.
   */
  order: option(oneOf(['ranks', 'arrival']), {
    text: 'with several hosts: ranks, sums are made in the order of ranks; arrival, as parts arrive, which is not reproducible',
    flag: '--order <name>',
    default: 'ranks'
  }),
  /**
   * How several hosts sum. `sharded`: each host owns a part, sums what all send of it, and sends the sum to all. `racks`: parts are summed within a rack first, and
   * cross the link to the next rack once in each direction. `ring`: the sum of a part goes from host to host in the order of ranks. The weights are the same, bit for bit. `racks` and `ring` are
   * refused where GPUs are summed by NCCL, and on backend `reference`. `auto`: the hosts measure their links, for less than a second, and take the one that is predicted to be the
   * fastest; the event `exchange` tells it with its reason. `sharded` if omitted. See docs/clusters.md.
   */
  exchange: option(oneOf(EXCHANGES), {
    text: 'with several hosts: sharded, all send to the owners of parts; racks, rack by rack; ring, host by host; auto measures the links',
    flag: '--exchange <name>',
    default: 'sharded'
  }),
  /** The ranks of the hosts of each rack, such as `[[0, 1], [2, 3]]`: every host once. `exchange: 'racks'` needs ranks that follow one another in each rack, in the order of racks. */
  racks: option(racks, {
    text: 'with several hosts: their ranks by rack, such as 0,1;2,3',
    flag: '--racks <ranks>',
    fromText: racksFromText,
    otherwise: 'all in one rack'
  }),
  /** With `hosts: 'loopback'`, the rate of the link to the other hosts, in bits a second: `'200Mbit'`, `'1Gbit'`. Unlimited if omitted. */
  link: option(text('a rate such as 200Mbit or 1Gbit'), {
    text: 'with hosts loopback: the rate of the link to other hosts, such as 200Mbit or 1Gbit',
    flag: '--link <rate>',
    otherwise: 'unlimited'
  }),
  /** The order in which the sums of devices and of hosts are made, from the bottom: `['devices', 'hosts']`; the faster one if omitted. */
  levels: option(list(oneOf(['devices', 'hosts']), 'a list of devices and hosts'), {
    text: 'devices,hosts or hosts,devices: the order of averaging',
    flag: '--levels <names>',
    otherwise: 'measured'
  })
}

/** A group of cores, or a GPU and the cores that drive it: its learners are summed first. Without cores, all of the process. */
export interface DeviceSettings {
  readonly cores: readonly number[]
}

export type HostsName = 'auto' | 'none' | 'loopback'

export interface DevicesSettings {
  readonly devices: readonly DeviceSettings[]
  /** The levels that there are. */
  readonly levels: readonly LevelName[]
  /** Whether `levels` are in the order that was asked for; otherwise it is measured. */
  readonly ordered: boolean
  /** What the hosts are; `loopback` if omitted and there is a level of them. */
  readonly hosts?: HostsName
  /** Where the sums of several hosts become the next central model; if omitted, it follows from whether there are hubs. */
  readonly ruleAt?: RulePlace
  /** In which order their parts are added; `ranks` if omitted. */
  readonly order?: SumOrder
  /** How several hosts sum; `sharded` if omitted. */
  readonly exchange?: ExchangeName
  /** Their ranks by rack; all in one if omitted. */
  readonly racks?: readonly (readonly number[])[]
  /** Bytes a second of the link to other hosts under `loopback`; unlimited if omitted. */
  readonly link?: number
}

/** The options that say which devices there are. */
export interface GivenDevices {
  readonly devices?: CheckedOptions<typeof devices>
  readonly hosts?: HostsName
  readonly ruleAt?: RulePlace
  readonly order?: SumOrder
  readonly exchange?: ExchangeName
  readonly racks?: readonly (readonly number[])[]
  readonly link?: string
  readonly levels?: readonly LevelName[]
  readonly backend: EngineBackend
}

export function devicesSettings(faults: Faults, given: GivenDevices): DevicesSettings {
  const all = devicesOf(faults, given)
  const there = [...(all.length > 1 ? ['devices' as const] : []), ...(given.hosts === 'loopback' ? ['hosts' as const] : [])]
  const { hosts = 'auto' } = given
  const link = linkOf(faults, given)
  const { ruleAt, order, exchange = 'sharded', racks: byRack } = given
  if (ruleAt === 'owners' && hosts !== 'auto')
    faults.refuse('ruleAt', ruleAt, `leave it out: hosts is ${hosts}, and no other host applies the rule`)
  checkExchange(faults, { ...given, hosts, exchange })
  if (order === 'arrival') checkArrival(faults, { ...given, hosts, exchange })
  const settings = {
    devices: all,
    hosts,
    exchange,
    ...(ruleAt && { ruleAt }),
    ...(order && { order }),
    ...(byRack && { racks: byRack }),
    ...(link !== undefined && { link })
  }
  if (given.levels === undefined) return { ...settings, levels: there, ordered: false }
  return { ...settings, levels: levelsOf(faults, given.levels, there), ordered: true }
}

function checkExchange(faults: Faults, { hosts, exchange, racks: byRack, backend: name }: GivenDevices): void {
  const refuse = (reason: string) => faults.refuse('exchange', exchange, `leave it out: ${reason}`)
  if (hosts !== 'auto' && exchange !== 'sharded') refuse(`hosts is ${hosts}, and no other host sums`)
  else if (hosts !== 'auto' && byRack) faults.refuse('racks', byRack, `leave it out: hosts is ${hosts}`)
  else if (exchange !== 'racks' && exchange !== 'ring') return
  else if (knownCapabilities(name)?.memory === 'device') refuse('NCCL sums for the GPUs of all hosts')
  else if (name === 'reference') refuse('backend reference sums in 64 bits, and a sum that is sent on has 32')
  else if (exchange === 'racks' && !byRack) faults.refuse('exchange', exchange, 'name the racks as well, as in 0,1;2,3')
}

function checkArrival(faults: Faults, { hosts, exchange, backend: name }: GivenDevices): void {
  const refuse = (reason: string) => faults.refuse('order', 'arrival', `leave it out: ${reason}`)
  if (hosts !== 'auto') refuse(`hosts is ${hosts}, and no other host sums`)
  else if (exchange !== 'sharded') refuse(`exchange ${exchange} sums in the order of ranks`)
  else if (knownCapabilities(name)?.memory === 'device') refuse('NCCL sums for the GPUs of all hosts')
}

function linkOf(faults: Faults, { link, hosts }: GivenDevices): number | undefined {
  if (link === undefined) return undefined
  if (hosts !== 'loopback') faults.refuse('link', link, 'leave it out, or use it together with hosts: loopback')
  const rate = bytesPerSecondOf(link)
  if (rate === undefined) faults.refuse('link', link, 'use a rate in bits a second, such as 200Mbit or 1Gbit')
  return rate
}

/** Throws INVALID_OPTION for levels that the rule has no use for, and for owners that cannot apply it to a part of the gradient. */
export function checkLevels({ devices: all, levels, hosts, ruleAt }: DevicesSettings, rule: GroupRule, optimiser: OptimiserSettings): void {
  const [level] = levels
  if (level === undefined) return
  const received = level === 'devices' ? all.length : (hosts ?? 'loopback')
  const isStarted = level === 'hosts' && hosts === 'auto'
  const refuse = (kind: string, instead: string) =>
    isStarted
      ? invalidOption('synchroniser', kind, `use ${instead}: several hosts train together`)
      : invalidOption(level, received, `leave it out under ${kind}, or use ${instead}`)
  // Learners that meet the central model one by one have nothing to sum.
  if (rule.kind === 'asynchronous') throw refuse('an asynchronous synchroniser', 'a synchronous one')
  if (rule.central.kind === 'sma' && rule.central.lockstep)
    throw refuse(
      'a synchroniser in lockstep, whose learners are all on one device',
      'one without lockstep, which ends with the same weights'
    )
  if (ruleAt === 'owners' && levels.includes('hosts') && rule.central.kind === 'optimiser' && needsNorm(optimiser))
    throw invalidOption(
      'ruleAt',
      ruleAt,
      'leave it out under clipNorm and lars: they need the norm of the whole gradient, of which an owner has a part'
    )
}

function devicesOf(faults: Faults, { devices: given = 1, backend: name = 'cpu' }: Partial<GivenDevices>): readonly DeviceSettings[] {
  const usable = usableProcessors()
  if (given === 1) return [{ cores: [] }]
  if (typeof given === 'number') {
    // The engine checks the number of GPUs. Any core may drive any of them.
    if (!knownCapabilities(name)?.usesCores) return Array.from({ length: given }, () => ({ cores: [] }))
    if (given > usable.length) faults.refuse('devices', given, `use a whole number from 1 to ${usable.length}`)
    return divided(usable, Math.min(given, usable.length))
  }
  const taken = new Map<number, string>()
  for (const [i, { cores }] of given.entries()) {
    const foreign = cores.filter((core) => !usable.includes(core))
    if (foreign.length > 0)
      faults.refuse(`devices[${i}].cores[${cores.indexOf(foreign[0]!)}]`, foreign[0], `use cores of this process: ${ranges(usable)}`)
    for (const [j, core] of cores.entries()) {
      const path = `devices[${i}].cores[${j}]`
      const other = taken.get(core)
      if (other !== undefined && !foreign.includes(core)) faults.refuse(path, core, `it is ${other} already: give each core to one device`)
      taken.set(core, path)
    }
  }
  return given
}

/** Neighbours together, as evenly as possible. */
function divided(cores: readonly number[], count: number): readonly DeviceSettings[] {
  const from = (i: number) => Math.floor((cores.length * i) / count)
  return Array.from({ length: count }, (_, i) => ({ cores: cores.slice(from(i), from(i + 1)) }))
}

function levelsOf(faults: Faults, given: readonly LevelName[], there: readonly LevelName[]): readonly LevelName[] {
  if (given.length === there.length && there.every((name) => given.includes(name))) return given
  const fix =
    there.length === 0
      ? 'leave it out: there is one device, and no hosts are asked for'
      : `give each of ${there.join(', ')} once, from the bottom; they follow from devices and hosts`
  faults.refuse('levels', given, fix)
  return there
}

/** 0, 1, 2, 5 as 0-2, 5. */
function ranges(cores: readonly number[]): string {
  const runs: [number, number][] = []
  for (const core of cores) {
    const last = runs.at(-1)
    if (last && core === last[1] + 1) last[1] = core
    else runs.push([core, core])
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(', ')
}
