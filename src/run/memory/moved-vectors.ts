import type { JobScope } from '../../actors/job-scope.js'
import type { HostTierSpec, MovedVectorsUse } from '../../engine/contract.js'
import type { Settings } from '../../options/settings.js'
import type { PreparedRun } from '../prepare/prepare.js'

/** The second tier of the run's vectors, which its group, its learners and its evaluators use; undefined if all of them lie on the device. */
export function movedVectors({ moved, settings, programs }: PreparedRun, { engine, handles }: JobScope): MovedVectorsUse | undefined {
  if (!moved) return undefined
  const { parameters: layout } = programs.train
  const vectors = handles.own(engine.createMovedVectors({ backend: settings.backend, layout, tier: tierOf(settings) }))
  return { vectors, all: moved === 'all' }
}

/** Where the second tier lies. */
export function tierOf({ spill }: Pick<Settings, 'spill'>): HostTierSpec {
  return spill === undefined ? {} : { folder: spill }
}
