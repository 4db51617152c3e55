import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import type { EngineBackend, Program } from '../../src/compiler/program.js'
import type { Engine } from '../../src/engine/contract.js'
import { engine as native } from '../../src/engine/native.js'
import { ArbalestError } from '../../src/errors.js'

const KEY = 'whether the stand-in has failed'
/** The calls that need no device. */
const SPARED: ReadonlySet<string> = new Set<keyof Engine>([
  'describe',
  'lower',
  'bytes',
  'release',
  'createProgram',
  'groupStatus',
  'iterationOf',
  'losses',
  'stop'
])

/** In all threads that are started from now on. */
export function watchDevice(): void {
  setEnvironmentData(KEY, new Int32Array(new SharedArrayBuffer(4)))
}

/** The native engine with the stand-in for CUDA, whose device can fail as a GPU does: from then on every call fails, in every thread. */
export const engine = Object.fromEntries(
  Object.entries(native).map(([name, call]: [string, (...values: unknown[]) => unknown]) => {
    const failing = (...values: unknown[]): unknown => {
      const failed = getEnvironmentData(KEY) as Int32Array | undefined
      if (failed && Atomics.load(failed, 0) !== 0)
        throw new ArbalestError('DEVICE_FAILED', `${name}: the device has failed, as it was told to`)
      return call(...values)
    }
    return [name, SPARED.has(name) ? call : failing]
  })
) as unknown as Engine

/** Breaks the device for this process; a GPU breaks by a kernel that writes outside its memory. */
export function failDevice(backend: EngineBackend): void {
  if (backend === 'cuda-host') {
    Atomics.store(getEnvironmentData(KEY) as Int32Array, 0, 1)
    return
  }
  const program = writingAnywhere(backend)
  const replica = native.createReplica({ backend, layout: program.parameters, threads: 1, seed: 1 })
  try {
    native.run(replica, native.bind(replica, native.createProgram(program)), { steps: 1, milliseconds: 1000 })
  } catch (error) {
    if (!(error instanceof ArbalestError) || error.code !== 'DEVICE_FAILED') throw error
  }
}

/** Writes rows for many tokens, 256 GiB, where one has room. No compiled program does that. */
function writingAnywhere(backend: EngineBackend): Program {
  const [tokens, width] = [2 ** 20, 2 ** 16]
  const place = (offset: number) => ({ tier: 'device', arena: 'activations', offset, from: 0, until: 0 }) as const
  const value = { role: 'activation', layout: 'plain' } as const
  const bytes = [4 * tokens, 4 * width, 4 * width] as const
  return {
    name: 'writing anywhere',
    backend,
    precision: 'f32',
    batch: 1,
    values: [
      { ...value, id: 0, name: 'tokens', shape: [tokens], type: 'i32', bytes: bytes[0], placement: place(0) },
      { ...value, id: 1, name: 'table', shape: [1, width], type: 'f32', bytes: bytes[1], placement: place(bytes[0]) },
      { ...value, id: 2, name: 'rows', shape: [1, width], type: 'f32', bytes: bytes[2], placement: place(bytes[0] + bytes[1]) }
    ],
    segments: {
      load: [],
      forward: [
        {
          kind: 'embedding',
          name: 'embedding',
          attributes: {},
          inputs: [0, 1],
          outputs: [2],
          scratch: { bytes: 0, offset: 0 },
          implementation: 'own',
          flops: 0
        }
      ],
      backward: [],
      exchange: [],
      update: []
    },
    parameters: { parameters: [], bytes: 0, elements: 0 },
    arenas: { weights: 0, gradients: 0, statistics: 0, activations: bytes[0] + bytes[1] + bytes[2], staged: 0 },
    named: {}
  }
}
