// node write-seeds.js FOLDER: programs as the compiler makes them, in a folder for each harness of native/fuzz.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bases } from '../targets/bases.js'
import { encodeProgram, encodeVectors } from './encode.js'

const folder = process.argv[2]!
const programs = bases().filter(({ program }) => program.backend === 'reference')
for (const harness of ['program', 'vectors']) mkdirSync(join(folder, harness), { recursive: true })
for (const [i, { program }] of programs.entries()) {
  const name = program.name.replaceAll(/\W/g, '-')
  writeFileSync(join(folder, 'program', name), encodeProgram(program, i))
  writeFileSync(join(folder, 'vectors', name), encodeVectors(program))
}
