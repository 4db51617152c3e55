import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Memory and the cores that are near to it, on a machine whose memory is not equally near to all cores (NUMA). */
export interface MemoryNode {
  readonly node: number
  /** Those that this process may use. */
  readonly cores: readonly number[]
  /** Whether a network card is attached to it. */
  readonly hasNetwork: boolean
}

/** The nodes of the machine that have cores of this process, as Linux describes them under `sys`; empty where it does not. */
export function memoryNodes(usable: readonly number[], sys = '/sys'): readonly MemoryNode[] {
  const networks = new Set(
    foldersIn(join(sys, 'class/net')).map((name) => Number.parseInt(textOf(join(sys, 'class/net', name, 'device/numa_node')), 10))
  )
  return foldersIn(join(sys, 'devices/system/node'))
    .flatMap((name) => /^node(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
    .map((node) => ({
      node,
      cores: coresIn(textOf(join(sys, 'devices/system/node', `node${node}`, 'cpulist'))).filter((core) => usable.includes(core)),
      hasNetwork: networks.has(node)
    }))
    .filter(({ cores }) => cores.length > 0)
}

/**
 * The cores of a hub, which is the `place`th process on its machine: those of one node, so that the chunks that it owns, their states and its buffers, which lie where its threads first write to
 * them, are in the memory next to the cores that sum. Nodes with a network card come first, and several hubs of a machine take one node after another. Undefined on a machine with one node.
 */
export function coresOfHub(nodes: readonly MemoryNode[], place: number): readonly number[] | undefined {
  if (nodes.length < 2) return undefined
  const inTurn = nodes.toSorted((a, b) => Number(b.hasNetwork) - Number(a.hasNetwork) || a.node - b.node)
  return inTurn[place % inTurn.length]!.cores
}

/** `0-3,8` as 0, 1, 2, 3, 8. */
function coresIn(list: string): readonly number[] {
  return list.split(',').flatMap((run) => {
    const [first, last = first] = run.trim().split('-').map(Number)
    if (run.trim() === '' || first === undefined || last === undefined) return []
    return Array.from({ length: last - first + 1 }, (_, i) => first + i)
  })
}

function foldersIn(path: string): readonly string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return ''
  }
}
