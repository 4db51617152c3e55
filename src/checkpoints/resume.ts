import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Checkpoint, GROUP_FILE, learnerFile } from './checkpoint.js'
import { MANIFEST } from './manifest.js'
import { bestOf, checkpointsIn, newestWhole } from './store.js'
import { readVectors } from './vectors.js'
import { SafetensorsFile } from '../formats/safetensors.js'
import type { ParameterLayout } from '../compiler/program.js'
import type { SnapshotContents } from '../engine/contract.js'
import { ArbalestError, invalidOption } from '../errors.js'
import type { EvaluatedEvent } from '../observe/events.js'
import { checkIdentity, type RunIdentity } from './run-identity.js'
import { checkedState, isPlanned, measuredHere, type RunState } from './run-state.js'
import type { CheckpointSettings } from '../options/checkpoint.js'
import type { Monitored } from '../options/until.js'

/** A central model, and its measurement. */
export interface MeasuredModel {
  readonly measured: EvaluatedEvent
  /** In canonical order. */
  readonly weights: Float32Array | Float64Array
}

/** The model of a checkpoint. */
export interface KeptModel extends MeasuredModel {
  readonly folder: string
}

/** A whole checkpoint that a run goes on from. */
export interface Resumption {
  readonly folder: string
  readonly state: RunState
  readonly group: SnapshotContents
  /** The file of the states of a learner, by rank; undefined if the learner begins at the central model. */
  readonly learner: (rank: number) => string | undefined
}

/**
 * The checkpoint from which a run goes on: the newest whole one, or the one that is named; undefined if there is none. Calls `refused` for each damaged
 * one. Throws INVALID_OPTION for a checkpoint of another run, and DATA_CORRUPT if the named one is damaged.
 */
export async function resumptionOf(
  settings: CheckpointSettings,
  { layout, identity }: { layout: ParameterLayout; identity: RunIdentity },
  refused: (folder: string, error: ArbalestError) => void
): Promise<Resumption | undefined> {
  const checkpoint = await checkpointOf(settings, refused)
  if (!checkpoint) return undefined
  const state = checkedState(checkpoint.folder, checkpoint.manifest.state)
  checkIdentity(checkpoint.folder, state.identity, identity)
  return resumptionIn(checkpoint.folder, state, layout)
}

/** The states in a folder that has the files of a checkpoint. Throws DATA_CORRUPT. */
export async function resumptionIn(folder: string, state: RunState, layout: ParameterLayout): Promise<Resumption> {
  await using file = await SafetensorsFile.open(join(folder, GROUP_FILE))
  const { vectors, counts } = await readVectors(file, layout.parameters)
  return {
    folder,
    state,
    // Older versions did not write the iteration.
    group: { vectors, counts: { iteration: state.iteration, ...counts } },
    learner: (rank) => (state.learners.includes(rank) ? `${folder}/${learnerFile(rank)}` : undefined)
  }
}

async function checkpointOf(
  { dir, resume, resumeAsGiven, goesBack = false }: CheckpointSettings,
  refused: (folder: string, error: ArbalestError) => void
): Promise<Checkpoint | undefined> {
  if (goesBack) {
    const named = resume === 'auto' || resume === 'never' ? undefined : await namedCheckpoint(resume, resumeAsGiven)
    const newest = await newestWhole(dir, refused, checkSound)
    // Those of other runs have been moved aside, and those up to the named one's iteration come before it.
    return newest && newest.iteration > (named?.iteration ?? -1) ? newest : named
  }
  if (resume === 'auto') return newestWhole(dir, refused)
  if (resume !== 'never') return namedCheckpoint(resume, resumeAsGiven)
  if ((await checkpointsIn(dir)).length > 0)
    throw invalidOption('checkpoint.resume', resume, `${dir} has checkpoints of an earlier run: name an empty folder, or resume it`)
  return undefined
}

async function namedCheckpoint(folder: string, asGiven: string): Promise<Checkpoint> {
  if (existsSync(join(folder, MANIFEST))) return Checkpoint.open(folder)
  const [newest] = await checkpointsIn(folder)
  const fix = newest
    ? `it is a folder of checkpoints; name one of them, such as ${newest.folder}`
    : "no checkpoint is there; use 'auto', 'never', or the path of one, such as runs/lenet/checkpoint-000000000500"
  throw invalidOption('checkpoint.resume', asGiven, fix)
}

/** Throws LOSS_NOT_FINITE for a model that had diverged already. */
export function checkSound({ folder, manifest }: Checkpoint): void {
  const measured = measuredHere(checkedState(folder, manifest.state))
  if (!measured || Number.isFinite(measured.testLoss)) return
  const message = `${folder}: its test loss was not a finite number; going back to an earlier one`
  throw new ArbalestError('LOSS_NOT_FINITE', message, { data: { folder } })
}

/**
 * The best model that a run has measured before it is resumed, by the figure `monitor`, among the checkpoints beside the one from which it goes on; undefined if there is
 * none, or if its checkpoint is damaged. What was measured because the run was stopped does not count, unless the run has `ended` there. Throws DATA_CORRUPT.
 */
export async function bestSoFar(
  { folder, state }: Pick<Resumption, 'folder' | 'state'>,
  layout: ParameterLayout,
  { monitor, ended }: { readonly monitor: Monitored | undefined; readonly ended: boolean }
): Promise<KeptModel | undefined> {
  const { iteration } = state
  const counts = (other: RunState) => hasMeasured(state, other) && (isPlanned(other) || (ended && other.iteration === iteration))
  const found = await bestOf(dirname(folder), { monitor, upTo: iteration, counts })
  const checkpoint = found && (await Checkpoint.open(found.folder).catch(() => undefined))
  const measured = checkpoint && checkedState(checkpoint.folder, checkpoint.manifest.state).measurements.at(-1)?.event
  if (!checkpoint || !measured) return undefined
  await using file = await checkpoint.file(GROUP_FILE)
  const { vectors } = await readVectors(file, layout.parameters)
  const weights = vectors['average'] ?? vectors['central']
  return weights && { measured, weights, folder: checkpoint.folder }
}

/** Whether a run has made the last measurement of another state: if not, that is another run's. No two measurements take the same time. */
function hasMeasured({ measurements }: RunState, other: RunState): boolean {
  const last = other.measurements.at(-1)?.event
  return measurements.some(({ event }) => event.iteration === last?.iteration && event.seconds === last.seconds)
}
