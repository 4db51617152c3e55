import type { EngineBackend, Precision } from '../compiler/program.js'
import { addon, entryOf, translated, type Addon } from './addon.js'
import type { BackendCapabilities, BackendDescription, Engine, MachineDescription } from './contract.js'
import { groupStatusBy, type ReadGroupStatus } from './group-status.js'
import { processorFeatures, processorName, usableCores, usableMemory } from './machine.js'

/** The calls that are the addon's; the others are composed here. */
const CALLS = [
  'capabilities',
  'lower',
  'bytes',
  'createDataset',
  'createStream',
  'nextBatch',
  'feedBatch',
  'watchStream',
  'streamStatus',
  'createProgram',
  'createRatedLink',
  'createGroup',
  'levelBuckets',
  'createReplica',
  'createArenas',
  'createMovedVectors',
  'createLease',
  'setLease',
  'leaseFigures',
  'leaseSpans',
  'leaseHolder',
  'release',
  'bind',
  'run',
  'runSegment',
  'cancel',
  'readValue',
  'writeValue',
  'readVector',
  'writeVector',
  'adopt',
  'profile',
  'join',
  'evict',
  'depart',
  'setLearningRates',
  'setRestarts',
  'setPause',
  'extendPause',
  'setEnd',
  'setRule',
  'stop',
  'iterationOf',
  'losses',
  'readCentral',
  'isFinite',
  'averagingSpans',
  'roundFigures',
  'sampledFigures',
  'writeCentral',
  'captureGroup',
  'captureReplica',
  'restoreGroup',
  'restoreReplica',
  'snapshotParts',
  'readSnapshot',
  'writeSnapshot',
  'openHosts',
  'hostsPlace',
  'sendToHost',
  'takeFromHost',
  'watchHosts',
  'endHosts',
  'hostsEnded',
  'lostHosts',
  'refusedMessages',
  'measureLinks',
  'linkFigures',
  'abortHosts',
  'countMemory',
  'watchMemory',
  'peakMemory',
  'freeMemory',
  'reserve',
  'keepToCores',
  'trim',
  'timeLevel',
  'measureTransfers',
  'measurePeak'
] as const satisfies readonly Exclude<keyof Addon, 'describe' | 'groupStatus'>[]

/** A call of the addon by name, looked up late so that a missing addon is an error of the call and not of the import. */
function call<Name extends keyof Addon>(name: Name): Addon[Name] {
  const forwarded = (...values: unknown[]): unknown => {
    try {
      return (entryOf(addon(), name) as (...values: unknown[]) => unknown)(...values)
    } catch (error) {
      throw translated(error)
    }
  }
  return forwarded as Addon[Name]
}

/** As the other calls, without an array of arguments: it is the one that programs make again and again while learners fill the caches. */
const readGroupStatus: ReadGroupStatus = (group, numbers) => {
  try {
    return addon().groupStatus(group, numbers)
  } catch (error) {
    throw translated(error)
  }
}

const calls = Object.fromEntries(CALLS.map((name) => [name, call(name)])) as unknown as Pick<Addon, (typeof CALLS)[number]>

/** The engine of this thread. Handles made here may be posted to any other. */
export const engine: Engine = { describe, groupStatus: groupStatusBy(readGroupStatus), ...calls }

/** For checks of options: what a backend can do, or undefined if it cannot be opened on this machine. The run itself throws the reason. */
export function knownCapabilities(backend: EngineBackend): BackendCapabilities | undefined {
  try {
    return engine.capabilities(backend)
  } catch {
    return undefined
  }
}

function describe(): MachineDescription {
  return {
    processor: processorName(),
    features: processorFeatures(),
    cores: usableCores(),
    freeMemory: usableMemory(),
    backends: backends()
  }
}

function backends(): readonly BackendDescription[] {
  const { available, detail } = call('describe')('cpu')
  if (!available) return [unavailable('cpu', detail), unavailable('reference', detail)]
  const about = JSON.parse(detail) as { onednn: string; instructionSet: string; kernels: string; precisions: Precision[] }
  return [
    {
      name: 'cpu',
      available,
      detail: `oneDNN ${about.onednn} (${about.instructionSet}), own kernels (${about.kernels})`,
      precisions: about.precisions
    },
    { name: 'reference', available, detail: 'plain loops', precisions: ['f32', 'bf16', 'f64'] }
  ]
}

function unavailable(name: BackendDescription['name'], detail: string): BackendDescription {
  return { name, available: false, detail, precisions: [] }
}
