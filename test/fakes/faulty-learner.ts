import { existsSync } from 'node:fs'
import type { LearnerContext, LearnerPlugin } from '../../src/actors/learner-plugin.js'
import type { EngineBackend } from '../../src/compiler/program.js'
import { engine } from '../../src/engine/native.js'
import { failDevice } from './failing-device.js'

export interface Fault {
  readonly backend: EngineBackend
  /** The device fails in the first learner once this file or folder is there. */
  readonly failsAfter?: string
  /** The first learner takes all memory of the device but for so many bytes, before it begins. */
  readonly leaves?: number
}

/** Trains as any other until its device fails, and on a device whose memory is taken. */
export default function ({ replica, learner, options: { backend, failsAfter, leaves } }: LearnerContext<Fault>): LearnerPlugin {
  return {
    started() {
      if (learner === 0 && leaves !== undefined) takeMemory(backend, engine.freeMemory(backend, 1, 0)! - leaves)
    },
    async step() {
      if (learner === 0 && failsAfter !== undefined && existsSync(failsAfter)) failDevice(backend)
      await replica.run(1)
    }
  }
}

/** Of the device, for the process's life or until it is released. */
export function takeMemory(backend: EngineBackend, bytes: number): number {
  const layout = { parameters: [], bytes: Math.floor(bytes / 4096) * 4096, elements: 0 }
  return engine.createReplica({ backend, layout, threads: 1, seed: 1 })
}
