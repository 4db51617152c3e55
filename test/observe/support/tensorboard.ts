import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const VERSION = '2.20.0'
/** Made once: what set-up fills, git and prettier leave alone. */
const ENVIRONMENT = fileURLToPath(new URL(`../../../../../.setup/tensorboard-${VERSION}`, import.meta.url))

const READER = `
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1])
events.Reload()
print(json.dumps({tag: [[each.step, each.value] for each in events.Scalars(tag)] for tag in events.Tags()['scalars']}))`

/** A Python that has TensorBoard, installed from PyPI into an environment of its own; the reason where none is to be had. */
export function pythonWithTensorboard(): { readonly python: string } | { readonly python: undefined; readonly reason: string } {
  const python = join(ENVIRONMENT, 'bin/python')
  if (existsSync(python)) return { python }
  // Under its name only when it is whole.
  const unfinished = `${ENVIRONMENT}.${process.pid}`
  try {
    mkdirSync(join(ENVIRONMENT, '..'), { recursive: true })
    const made = spawnSync('python3', ['-m', 'venv', unfinished], { encoding: 'utf8' })
    if (made.status !== 0) return { python: undefined, reason: 'no python3 with venv' }
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `tensorboard==${VERSION}`]
    const installed = spawnSync(join(unfinished, 'bin/python'), pip, { encoding: 'utf8', timeout: 500_000 })
    if (installed.status !== 0) return { python: undefined, reason: `tensorboard ${VERSION} cannot be installed by pip` }
    renameSync(unfinished, ENVIRONMENT)
    return { python }
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}

/** All scalars of a folder of event files: steps and values by tag. */
export function scalarsOf(python: string, folder: string): Record<string, [step: number, value: number][]> {
  const { status, stdout, stderr } = spawnSync(python, ['-c', READER, folder], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as Record<string, [number, number][]>
}
