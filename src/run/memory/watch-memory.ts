import type { JobScope } from '../../actors/job-scope.js'
import type { PreparedRun } from '../prepare/prepare.js'

/** Tells the most memory that has been allocated on a device since now, and the samples, which lie in the machine's memory outside of any GPU. */
export function watchMemory(
  { settings: { backend, devices }, sourcePlan }: Pick<PreparedRun, 'settings' | 'sourcePlan'>,
  { engine, handles }: JobScope
): () => number {
  const watch = handles.own(engine.watchMemory(backend, devices.devices.length))
  const samples = engine.capabilities(backend).memory === 'machine' ? sourcePlan.bytes : 0
  return () => engine.peakMemory(watch) + samples
}
