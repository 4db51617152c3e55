import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter } from 'node:path'
import { fileURLToPath } from 'node:url'
import { venvPython } from '../../python.js'

const PEERS = fileURLToPath(new URL('../../../peers/', import.meta.url))

/** `ARBALEST_PYTHON`, else that of `peers/setup`, else the one in PATH. */
export const PYTHON = process.env['ARBALEST_PYTHON'] || (existsSync(venvPython) ? venvPython : 'python3')

/** Runs it on one processor, in the folder of the peers, whose modules it imports. */
export function python(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  const modules = [PEERS, process.env['PYTHONPATH']].filter(Boolean).join(delimiter)
  const env = { ...process.env, PYTHONPATH: modules, OMP_NUM_THREADS: '1', PYTHONDONTWRITEBYTECODE: '1' }
  return spawnSync(PYTHON, args, { cwd: PEERS, encoding: 'utf8', env })
}
