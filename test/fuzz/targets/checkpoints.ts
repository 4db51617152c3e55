import { createHash } from 'node:crypto'
import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GROUP_FILE, learnerFile, MODEL_FILE } from '../../../src/checkpoints/checkpoint.js'
import { MANIFEST } from '../../../src/checkpoints/manifest.js'
import { CheckpointStore, newestWhole } from '../../../src/checkpoints/store.js'
import { writeVectors } from '../../../src/checkpoints/vectors.js'
import { compile } from '../../../src/compiler/compile.js'
import type { ParameterLayout } from '../../../src/compiler/program.js'
import { loweringBackend } from '../../../src/engine/lowering.js'
import type { Handle } from '../../../src/engine/contract.js'
import { engine } from '../../../src/engine/native.js'
import { defineModel, linear, relu } from '../../../src/model/layers.js'
import { resumptionOf } from '../../../src/checkpoints/resume.js'
import { randomTrainedModel } from '../../formats/support/random-weights.js'
import type { Choice } from '../support/choice.js'
import { damaged } from '../support/damage.js'
import { harmed, junk } from '../support/junk.js'
import { refusingBy } from '../support/refusals.js'
import type { Target } from '../support/target.js'
import { modelFile } from '../../../src/trained/load-model.js'
import { readModel, saveModel } from '../../../src/formats/model-files.js'

const MODEL = defineModel({ name: 'small', input: [4], layers: [linear(3), relu(), linear(2)] })
const IDENTITY = { model: '"small"', batch: '8', seed: '1' }
const STATE = {
  identity: IDENTITY,
  round: 20,
  iteration: 20,
  position: 320,
  seconds: 1.5,
  population: [
    { round: 0, learners: 2 },
    { round: 10, learners: 1 }
  ],
  learningRateScale: 1,
  learners: [0],
  measurements: [{ event: { event: 'evaluated', iteration: 10, epoch: 0.5, testLoss: 1.25, testAccuracy: 0.5, seconds: 0.1 }, seconds: 1 }]
}

/**
 * A folder of two checkpoints, the newer one harmed. Harm that its manifest does not know of is always seen, and the older one taken; where
 * the manifest was made to agree with it, the contents are taken or refused by a code.
 */
export async function checkpointsTarget(folder: string): Promise<Target> {
  const dir = join(folder, 'checkpoints')
  const { parameters: layout } = compile(MODEL, loweringBackend(engine, 'reference'), { batch: 2, mode: 'predict', precision: 'f32' })
  const [older, newer] = await written(dir, layout)
  const files = [GROUP_FILE, learnerFile(0), MODEL_FILE, MANIFEST].map((name) => ({
    name,
    path: join(newer, name),
    bytes: readFileSync(join(newer, name))
  }))
  return async (choice) => {
    for (const { path, bytes } of files) writeFileSync(path, bytes)
    if (choice.happens(0.4)) {
      unnoticed(files, choice)
      await lookAt(dir, layout)
      return
    }
    const { path, bytes, name } = choice.among(files)
    const found = harmedFile(path, bytes, choice)
    const whole = await newestWhole(dir, () => {})
    // White space in a manifest says nothing.
    const same = found?.equals(bytes) === true || (name === MANIFEST && found !== undefined && meansTheSame(found, bytes))
    if (whole?.folder !== (same ? newer : older)) throw new Error(`${name} was harmed and ${whole?.folder} was taken`)
    await lookAt(choice.happens(0.5) ? dir : newer, layout)
  }
}

async function written(dir: string, layout: ParameterLayout): Promise<[older: string, newer: string]> {
  const trained = randomTrainedModel(MODEL, { backend: 'reference' })
  const saved = { model: MODEL, weights: trained.weights(), statistics: trained.statistics(), normalisation: { mean: [], std: [] } }
  const group = newGroup(layout)
  const snapshot = engine.captureGroup(group)
  const parts = { ...engine.snapshotParts(snapshot), read: (name: string) => engine.readSnapshot(snapshot, name) }
  const learner = { vectors: ['weights', 'velocity'], counts: { steps: 20 }, read: () => new Float32Array(layout.elements).fill(0.5) }
  await using store = await CheckpointStore.open(dir)
  const folders: string[] = []
  for (const iteration of [10, 20])
    folders.push(
      await store.write({
        iteration,
        state: STATE,
        files: {
          [GROUP_FILE]: (path) => writeVectors(path, layout.parameters, parts),
          [learnerFile(0)]: (path) => writeVectors(path, layout.parameters, learner),
          [MODEL_FILE]: (path) => saveModel(path, saved)
        }
      })
    )
  return folders as [string, string]
}

function newGroup(layout: ParameterLayout): Handle {
  const central = { kind: 'sma', alpha: null, momentum: 0.5 } as const
  const rule = { kind: 'synchronous', central, adopts: false, period: 1, from: 0 } as const
  return engine.createGroup({ backend: 'reference', layout, initial: new Float32Array(layout.elements), batch: 8, rule })
}

interface File {
  readonly name: string
  readonly path: string
  readonly bytes: Buffer
}

/** What the file is then; undefined where it has gone. */
function harmedFile(path: string, bytes: Buffer, choice: Choice): Buffer | undefined {
  if (choice.happens(0.05)) {
    rmSync(path)
    return undefined
  }
  if (choice.happens(0.05)) {
    truncateSync(path)
    return Buffer.alloc(0)
  }
  const changed = damaged(bytes, choice)
  writeFileSync(path, changed)
  return changed
}

/** Harm to the manifest's values or to a file, with every hash made right again. */
function unnoticed(files: readonly File[], choice: Choice): void {
  const manifestFile = files.find(({ name }) => name === MANIFEST)!
  const { sha256: _, ...manifest } = JSON.parse(manifestFile.bytes.toString()) as { sha256: string; state: unknown; files: unknown[] }
  if (choice.happens(0.5)) {
    const { name, path, bytes } = choice.among(files.filter((file) => file !== manifestFile))
    const changed = choice.happens(0.5) ? damaged(bytes, choice) : withOtherCounts(bytes, choice)
    writeFileSync(path, changed)
    manifest.files = (manifest.files as { name: string }[]).map((file) =>
      file.name === name ? { name, bytes: changed.length, sha256: hashOf(changed) } : file
    )
    writeFileSync(manifestFile.path, signed(manifest))
    return
  }
  const changed = choice.happens(0.7)
    ? { ...manifest, state: choice.happens(0.1) ? junk(choice) : harmed(manifest.state, choice) }
    : harmed(manifest, choice)
  writeFileSync(manifestFile.path, signed(changed))
}

/** The counts of a snapshot, in a file's metadata, as other JSON or as none. The header's length stays right. */
function withOtherCounts(bytes: Buffer, choice: Choice): Buffer {
  const before = '"counts":"'
  const from = bytes.indexOf(before) + before.length
  const to = bytes.indexOf('}"', from) + 1
  if (from < before.length) return damaged(bytes, choice)
  const counts = choice.among(['null', '[1]', '7', '"x"', '{', '', '{"round":null}', '{"round":1e99}', '{"round":{}}', '{"steps":-1}'])
  const escaped = JSON.stringify(counts.padEnd(to - from)).slice(1, -1)
  return Buffer.concat([bytes.subarray(0, from), Buffer.from(escaped.slice(0, to - from)), bytes.subarray(to)])
}

function signed(manifest: unknown): string {
  try {
    const plain = JSON.parse(JSON.stringify(manifest)) as object
    return JSON.stringify({ ...plain, sha256: hashOf(JSON.stringify(plain)) })
  } catch {
    return '{}' // it held itself
  }
}

function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

function meansTheSame(found: Buffer, bytes: Buffer): boolean {
  try {
    return JSON.stringify(JSON.parse(found.toString())) === JSON.stringify(JSON.parse(bytes.toString()))
  } catch {
    return false
  }
}

/** All that reads checkpoints: a run that goes on, and whoever takes the model away. */
async function lookAt(place: string, layout: ParameterLayout): Promise<void> {
  const codes = ['DATA_CORRUPT', 'DATA_NOT_FOUND', 'INVALID_OPTION', 'SHAPE_MISMATCH', 'INVALID_STATE', 'UNSUPPORTED_OPERATOR'] as const
  const dir = join(place, place.endsWith('checkpoints') ? '.' : '..')
  const resume = place === dir ? 'auto' : place
  const settings = { dir, period: 10, keep: 3, resume, resumeAsGiven: resume }
  const resumption = await refusingBy(codes, () => resumptionOf(settings, { layout, identity: IDENTITY }, () => {}))
  if (resumption) {
    const group = newGroup(layout)
    try {
      await refusingBy([...codes, 'INVALID_PROGRAM'], () => engine.restoreGroup(group, resumption.group))
    } finally {
      engine.release(group)
    }
  }
  const file = await refusingBy(codes, () => modelFile(place))
  await refusingBy([...codes, 'UNKNOWN_NAME'], () => readModel(file))
}
