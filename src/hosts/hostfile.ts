import { readFileSync } from 'node:fs'
import { invalidOption, messageOf } from '../errors.js'

/** A machine, and how many processes it takes. */
export interface Host {
  readonly name: string
  readonly slots: number
  /** Of the rack, where the hostfile names them. */
  readonly rack?: string
}

/** As many processes as `arbalest launch` starts at most. */
const MOST_SLOTS = 65_536

const FORM = 'write one host a line, such as "node1", "node1 slots=2" or "node1 slots=2 rack=a"'

/**
 * The hosts of a file in the form of Open MPI (`node1 slots=2`) or MPICH (`node1:2`), each with the name of its rack behind if it has one (`rack=a`). A host without a number takes one
 * process, which uses all its cores; one that comes again takes so many more. Throws INVALID_OPTION, also if some hosts have a rack and others have none.
 */
export function readHostfile(path: string): readonly Host[] {
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch (error) {
    throw invalidOption('hostfile', path, `it cannot be read (${messageOf(error)}); ${FORM}`)
  }
  const hosts = new Map<string, Host>()
  for (const [i, line] of content.split('\n').entries()) {
    const words = line.replace(/#.*/, '').trim()
    if (words === '') continue
    const { name, slots, rack } = hostOf(words) ?? refuse(path, i + 1, words)
    const known = hosts.get(name)
    if (known && known.rack !== rack) refuse(path, i + 1, words, `${name} has another rack above`)
    if (slots + (known?.slots ?? 0) > MOST_SLOTS) refuse(path, i + 1, words, `give a host at most ${MOST_SLOTS} slots`)
    hosts.set(name, { name, slots: (known?.slots ?? 0) + slots, ...(rack !== undefined && { rack }) })
  }
  if (hosts.size === 0) throw invalidOption('hostfile', path, `it names no host; ${FORM}`)
  const [without] = [...hosts.values()].filter(({ rack }) => rack === undefined)
  if (without && [...hosts.values()].some(({ rack }) => rack !== undefined))
    throw invalidOption('hostfile', path, `${without.name} has no rack, and others have; give each host one, or none`)
  return [...hosts.values()]
}

function hostOf(words: string): Host | undefined {
  const [, name, slots = '1', rack] =
    /^(\w[\w.-]*)(?:(?:\s+slots\s*=\s*|:)(\d+))?(?:\s+max[_-]slots\s*=\s*\d+)?(?:\s+rack\s*=\s*([\w.-]+))?$/.exec(words) ?? []
  return name !== undefined && Number(slots) >= 1 ? { name, slots: Number(slots), ...(rack !== undefined && { rack }) } : undefined
}

function refuse(path: string, line: number, words: string, reason = FORM): never {
  throw invalidOption('hostfile', path, `its line ${line} is ${JSON.stringify(words)}; ${reason}`)
}

/** The ranks of the processes of each rack, as `--racks` takes them; undefined where the hosts have none. */
export function racksOf(hosts: readonly Host[]): string | undefined {
  if (hosts.length === 0 || hosts.some(({ rack }) => rack === undefined)) return undefined
  const racks = new Map<string, number[]>()
  let next = 0
  for (const { rack, slots } of hosts) racks.set(rack!, [...(racks.get(rack!) ?? []), ...Array.from({ length: slots }, () => next++)])
  return [...racks.values()].map((ranks) => ranks.join(',')).join(';')
}

/**
 * All hosts, with the racks that the ranks of a start on some of them have been given: each is in the rack of its processes. One that has none, or processes in several, is in none.
 */
export function inGivenRacks(all: readonly Host[], started: readonly Host[], racks: readonly (readonly number[])[]): readonly Host[] {
  const found = new Map<string, ReadonlySet<number>>()
  let next = 0
  for (const { name, slots } of started)
    found.set(name, new Set(Array.from({ length: slots }, () => next++).map((rank) => racks.findIndex((ranks) => ranks.includes(rank)))))
  return all.map((host) => {
    const [rack = -1, ...others] = found.get(host.name) ?? []
    return rack < 0 || others.length > 0 ? host : { ...host, rack: String(rack) }
  })
}

/** Processes over hosts, as evenly as the slots allow; hosts without any are left out. Throws INVALID_OPTION if there are too few slots. */
export function placed(processes: number, hosts: readonly Host[]): readonly Host[] {
  const slots = slotsOf(hosts)
  if (processes > slots) {
    const taken = hosts.map(({ name, slots: own }) => `${name} takes ${own}`).join(', ')
    throw invalidOption('processes', processes, `use at most ${slots}, or give the hosts more slots: ${taken}`)
  }
  const counts = hosts.map(() => 0)
  for (let left = processes; left > 0;) {
    for (const [i, { slots: own }] of hosts.entries()) {
      if (left === 0 || counts[i]! >= own) continue
      counts[i]!++
      left--
    }
  }
  return hosts.map((host, i) => ({ ...host, slots: counts[i]! })).filter((host) => host.slots > 0)
}

export function slotsOf(hosts: readonly Host[]): number {
  return hosts.reduce((sum, { slots }) => sum + slots, 0)
}
