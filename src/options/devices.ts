import type { GroupRule, LevelName } from '../engine/contract.js'
import { isGpu } from '../engine/gpu.js'
import { usableProcessors } from '../engine/machine.js'
import { invalidOption } from '../errors.js'
import type { DeviceOptions, TrainOptions } from './train-options.js'
import type { OptionChecks, OptionNames } from './option-checks.js'

const LEVEL_NAMES: readonly LevelName[] = ['devices', 'hosts']

/** A group of cores, or a GPU and the cores that drive it: its learners are summed first. No cores: all of the process. */
export interface DeviceSettings {
  readonly cores: readonly number[]
}

export interface DevicesSettings {
  readonly devices: readonly DeviceSettings[]
  /** Each is a GPU, with memory of its own: the devices' level gives every one the sum. */
  readonly gpus?: true
  /** Those that there are, by their names. */
  readonly levels: readonly LevelName[]
  /** Whether `levels` are in the order that was asked for; else it is measured. */
  readonly ordered: boolean
}

/** More than any machine has. */
const MOST_GPUS = 1024

const DEVICE: OptionNames<DeviceOptions> = { cores: true }

export function devicesSettings(
  checks: OptionChecks,
  { devices, hosts, levels, backend }: Pick<Partial<TrainOptions>, 'devices' | 'hosts' | 'levels' | 'backend'>
): DevicesSettings {
  const gpus = backend !== undefined && isGpu(backend)
  const settings = { devices: checkedDevices(checks, devices, gpus), ...(gpus && { gpus }) }
  if (hosts !== undefined) checks.name('hosts', hosts, ['loopback'])
  const there = LEVEL_NAMES.filter((name) => (name === 'devices' ? settings.devices.length > 1 : hosts !== undefined))
  if (levels === undefined) return { ...settings, levels: there, ordered: false }
  return { ...settings, levels: checkedLevels(checks, levels, there), ordered: true }
}

/** Throws INVALID_OPTION for levels that the rule has no use for. */
export function checkLevels({ devices, levels }: DevicesSettings, rule: GroupRule): void {
  const [level] = levels
  if (level === undefined) return
  const received = level === 'devices' ? devices.length : 'loopback'
  // Learners that meet the central model one by one have nothing to sum.
  if (rule.kind === 'asynchronous')
    throw invalidOption(level, received, 'leave it out under an asynchronous synchroniser, or use a synchronous one')
  if (rule.central.kind === 'sma' && rule.central.lockstep)
    throw invalidOption(level, received, 'leave it out under a synchroniser in lockstep, whose learners are all on one device')
}

function checkedDevices(checks: OptionChecks, given: TrainOptions['devices'], gpus: boolean): readonly DeviceSettings[] {
  const usable = usableProcessors()
  if (given === undefined) return [{ cores: [] }]
  // How many GPUs there are the engine says. Any core may drive any of them.
  if (typeof given === 'number' && gpus) return Array.from({ length: checks.whole('devices', given, 1, MOST_GPUS) }, () => ({ cores: [] }))
  if (typeof given === 'number') return shared(usable, checks.whole('devices', given, 1, usable.length))
  if (!Array.isArray(given) || given.length === 0) {
    checks.refuse('devices', given, 'give their number, or a list such as [{ cores: [0, 1] }, { cores: [2, 3] }]')
    return [{ cores: [] }]
  }
  const taken = new Map<number, string>()
  return given.map((each: DeviceOptions, i) => {
    const path = `devices[${i}]`
    const { cores } = checks.group(path, each, DEVICE)
    if (!Array.isArray(cores) || cores.length === 0) {
      checks.refuse(`${path}.cores`, cores, 'give the numbers of its cores, such as [0, 1]')
      return { cores: [] }
    }
    cores.forEach((core: number, j) => {
      const other = taken.get(core)
      if (!usable.includes(core)) checks.refuse(`${path}.cores[${j}]`, core, `use cores of this process: ${listed(usable)}`)
      else if (other !== undefined) checks.refuse(`${path}.cores[${j}]`, core, `it is ${other} already: give each core to one device`)
      taken.set(core, `${path}.cores[${j}]`)
    })
    return { cores: cores as readonly number[] }
  })
}

/** Neighbours together, as evenly as they go; who is alone may use all. */
function shared(cores: readonly number[], devices: number): readonly DeviceSettings[] {
  if (devices === 1) return [{ cores: [] }]
  const from = (device: number) => Math.floor((cores.length * device) / devices)
  return Array.from({ length: devices }, (_, device) => ({ cores: cores.slice(from(device), from(device + 1)) }))
}

function checkedLevels(checks: OptionChecks, given: unknown, there: readonly LevelName[]): readonly LevelName[] {
  const mend =
    there.length === 0
      ? 'leave it out: there is one device, and no hosts are asked for'
      : `give each of ${there.join(', ')} once, from the bottom; they follow from devices and hosts`
  const fits = Array.isArray(given) && given.length === there.length && there.every((name) => given.includes(name))
  if (!fits) checks.refuse('levels', given, mend)
  return fits ? (given as LevelName[]) : there
}

/** 0, 1, 2, 5 as 0-2, 5. */
function listed(cores: readonly number[]): string {
  const runs: [number, number][] = []
  for (const core of cores) {
    const last = runs.at(-1)
    if (last && core === last[1] + 1) last[1] = core
    else runs.push([core, core])
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(', ')
}
