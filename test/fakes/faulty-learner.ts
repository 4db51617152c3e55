import { existsSync } from 'node:fs'
import type { LearnerContext, LearnerPlugin } from '../../src/learner/learner-plugin.js'
import type { EngineBackend } from '../../src/compiler/program.js'
import { engine } from '../../src/engine/native.js'
import { failDevice } from './failing-device.js'

export interface Fault {
  readonly backend: EngineBackend
  /** The device fails in the first learner once this file or folder exists. */
  readonly failsAfter?: string
  /** Before it begins, the first learner takes all memory of the device except this many bytes. */
  readonly leaves?: number
}

/** Trains as the built-in learner does, until its device fails or on a device whose memory it has taken. */
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

/** Takes memory of the device, until it is released or the process ends. */
export function takeMemory(backend: EngineBackend, bytes: number): number {
  const layout = { parameters: [], bytes: Math.floor(bytes / 4096) * 4096, elements: 0 }
  return engine.createReplica({ backend, layout, threads: 1, seed: 1 })
}
