import { readFileSync } from 'node:fs'
import { invalidOption, messageOf } from '../errors.js'

/** A machine, and how many processes it takes. */
export interface Host {
  readonly name: string
  readonly slots: number
}

const FORM = 'write one host a line, such as "node1" or "node1 slots=2"'

/**
 * The hosts of a file in the form of Open MPI (`node1 slots=2`) or MPICH (`node1:2`). A host without a number takes one process, which uses all its cores;
 * one that comes again takes so many more. Throws INVALID_OPTION.
 */
export function readHostfile(path: string): readonly Host[] {
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch (error) {
    throw invalidOption('hostfile', path, `it cannot be read (${messageOf(error)}); ${FORM}`)
  }
  const hosts = new Map<string, number>()
  for (const [i, line] of content.split('\n').entries()) {
    const words = line.replace(/#.*/, '').trim()
    if (words === '') continue
    const { name, slots } = hostOf(words) ?? refuse(path, i + 1, words)
    hosts.set(name, (hosts.get(name) ?? 0) + slots)
  }
  if (hosts.size === 0) throw invalidOption('hostfile', path, `it names no host; ${FORM}`)
  return [...hosts].map(([name, slots]) => ({ name, slots }))
}

function hostOf(words: string): Host | undefined {
  const [, name, slots = '1'] = /^([\w.-]+)(?:\s+slots\s*=\s*|:)?(\d+)?(?:\s+max[_-]slots\s*=\s*\d+)?$/.exec(words) ?? []
  return name !== undefined && Number(slots) >= 1 ? { name, slots: Number(slots) } : undefined
}

function refuse(path: string, line: number, words: string): never {
  throw invalidOption('hostfile', path, `its line ${line} is ${JSON.stringify(words)}; ${FORM}`)
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
  return hosts.map(({ name }, i) => ({ name, slots: counts[i]! })).filter((host) => host.slots > 0)
}

export function slotsOf(hosts: readonly Host[]): number {
  return hosts.reduce((sum, { slots }) => sum + slots, 0)
}
