import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { compile } from '../../../src/compiler/compile.js'
import { loweringBackend } from '../../../src/engine/lowering.js'
import { engine } from '../../../src/engine/native.js'
import { defineModel, flatten, linear } from '../../../src/model/layers.js'
import { thrown } from '../../support/thrown.js'

const SPARE = 64 * 2 ** 20

/** The error of reading 128 MiB of weights in an address space that has half as much left. */
export function refusalOfLargeRead(): { code: string; message: string } {
  const model = defineModel({ name: 'large', input: [1, 64, 64], layers: [flatten(), linear(8192)] })
  const { parameters: layout } = compile(model, loweringBackend(engine, 'cpu'), { mode: 'predict', batch: 1, precision: 'f32' })
  const replica = engine.createReplica({ backend: 'cpu', layout, threads: 1, seed: 1 })
  const [, kilobytes] = /^VmSize:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))!
  execFileSync('prlimit', [`--pid=${process.pid}`, `--as=${1024 * Number(kilobytes) + SPARE}:unlimited`])
  const { code, message } = thrown(() => engine.readVector(replica, 'weights'))
  return { code, message }
}
