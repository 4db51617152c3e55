import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, freemem, totalmem } from 'node:os'

/** Cores this process may use: its affinity, and the cgroup's share rounded up. */
export function usableCores(): number {
  const affinity = availableParallelism()
  const share = cgroupShare()
  return Math.max(1, share === undefined ? affinity : Math.min(affinity, Math.ceil(share)))
}

/** The numbers of the cores that this process may run on. They may be more than `usableCores`, because a cgroup's share does not name cores. */
export function usableProcessors(): readonly number[] {
  const [, list] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(fileText('/proc/self/status') ?? '') ?? []
  if (list === undefined) return Array.from({ length: availableParallelism() }, (_, i) => i)
  return list.split(',').flatMap((run) => {
    const [first = 0, last = first] = run.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, i) => first + i)
  })
}

/** Threads that this process may still start: by the cgroup and, unless it is root's, by the user's limit; Infinity if none is known. */
export function threadLimit(): number {
  const most = Number.parseInt(fileText('/sys/fs/cgroup/pids.max') ?? '', 10)
  const now = Number.parseInt(fileText('/sys/fs/cgroup/pids.current') ?? '', 10)
  const group = Number.isNaN(most - now) ? Infinity : Math.max(0, most - now)
  const [, soft = ''] = /^Max processes\s+(\S+)/m.exec(fileText('/proc/self/limits') ?? '') ?? []
  const user = process.getuid?.() === 0 || !/^\d+$/.test(soft) ? Infinity : Number(soft)
  return Math.min(group, user)
}

/** Bytes of the machine's memory, as far as the limit of its cgroup allows them to this process. */
export function totalMemory(): number {
  const limit = process.constrainedMemory()
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}

/** Bytes that this process may still allocate, from the first source that knows. */
export function usableMemory(sources: readonly (() => number)[] = [() => process.availableMemory(), freemem, totalmem]): number {
  // Each is 0 where the system does not say, as with a hidden /proc. If none is known, nothing is refused.
  for (const source of sources) {
    const bytes = source()
    if (bytes > 0) return bytes
  }
  return Infinity
}

export function processorName(): string {
  return cpus()[0]?.model.trim() ?? 'unknown'
}

/** Instruction sets that our kernels can use, by their names in /proc/cpuinfo. */
const FEATURES = [
  'avx2',
  'fma',
  'f16c',
  'avx512f',
  'avx512bw',
  'avx512_vnni',
  'avx512_bf16',
  'amx_tile',
  'amx_bf16',
  'asimd',
  'sve',
  'bf16'
]

export function processorFeatures(): readonly string[] {
  const text = fileText('/proc/cpuinfo') ?? ''
  const line = /^(?:flags|Features)\s*:\s*(.*)$/m.exec(text)?.[1] ?? ''
  const present = new Set(line.split(/\s+/))
  return FEATURES.filter((feature) => present.has(feature))
}

function cgroupShare(): number | undefined {
  const [quota, period] = (fileText('/sys/fs/cgroup/cpu.max') ?? '').trim().split(' ').map(Number)
  return quota !== undefined && period !== undefined && quota > 0 && period > 0 ? quota / period : undefined
}

function fileText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
