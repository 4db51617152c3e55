import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Checkpoint, GROUP_FILE } from '../../../src/checkpoints/checkpoint.js'
import { MANIFEST, writeManifest } from '../../../src/checkpoints/manifest.js'
import { readSafetensors, writeSafetensors } from '../../../src/formats/safetensors.js'

/** Makes a checkpoint what older versions have written: with no iteration beside the round, no cuts and no starts of its rule. */
export async function makeOlder(folder: string): Promise<void> {
  const { manifest } = await Checkpoint.open(folder)
  const path = join(folder, GROUP_FILE)
  const { metadata, tensors } = await readSafetensors(path)
  const { iteration: _, ...counts } = JSON.parse(metadata['counts']!) as Record<string, number>
  await writeSafetensors(path, tensors, { metadata: { ...metadata, counts: JSON.stringify(counts) } })
  const { cuts: __, ruleStarts: ___, ...state } = manifest.state as Record<string, unknown>
  await rm(join(folder, MANIFEST))
  await writeManifest(folder, await readdir(folder), { iteration: manifest.iteration, state })
}
