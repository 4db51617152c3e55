import type { OperatorProfile } from '../internals.js'

/** What one core can do at most, as measured. */
export interface Roofs {
  readonly flopsPerSecond: number
  /** Of memory, and of the caches. */
  readonly bytesPerSecond: number
  readonly cacheBytesPerSecond: number
  /** Data of an operator up to this size may lie in a cache. */
  readonly cacheBytes: number
}

/** An operator's run and the least that it can take. */
export interface Placed {
  readonly kind: string
  readonly name: string
  readonly segment: string
  readonly implementation: string
  readonly flops: number
  readonly bytes: number
  readonly seconds: number
  readonly bound: number
  /** What bounds it. */
  readonly by: 'arithmetic' | 'cache' | 'memory'
}

/** The roofline model (Williams et al., 2009): an operator takes at least the time of its arithmetic, and that of its bytes. `seconds` is that of one run. */
export function boundOf(operator: Omit<OperatorProfile, 'runs'>, roofs: Roofs): Placed {
  const { kind, name, segment, implementation, flops, bytes, seconds } = operator
  const cached = bytes <= roofs.cacheBytes
  const moving = bytes / (cached ? roofs.cacheBytesPerSecond : roofs.bytesPerSecond)
  const computing = flops / roofs.flopsPerSecond
  const by = computing >= moving ? 'arithmetic' : cached ? 'cache' : 'memory'
  return { kind, name, segment, implementation, flops, bytes, seconds, bound: Math.max(computing, moving), by }
}
