import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describeCuda } from '../internals.js'
import { commit } from '../results.js'

/** The version that is measured, and the device. Figures of two places are not compared. */
export interface Place {
  readonly commit: string
  readonly device: string
  readonly driver: string
  /** PyTorch's version. */
  readonly torch: string
}

/** Why backend `cuda` has no GPU here; undefined where it has one. */
export function whyNoGpu(): string | undefined {
  const report = describeCuda()
  if (typeof report === 'string') return report
  return report.devices.length > 0 ? undefined : 'backend cuda: it finds no GPU here; run arbalest doctor'
}

/** The environment variable `ARBALEST_COMMIT` names the commit if the sources have no git history. */
export async function placeOf(torch: string): Promise<Place> {
  const [device, driver] = await gpu()
  return { commit: process.env['ARBALEST_COMMIT'] || (await commit()), device, driver, torch }
}

async function gpu(): Promise<[device: string, driver: string]> {
  try {
    const { stdout } = await promisify(execFile)('nvidia-smi', ['--query-gpu=name,driver_version', '--format=csv,noheader'])
    const [device = '', driver = ''] = stdout
      .split('\n')[0]!
      .split(',')
      .map((field) => field.trim())
    return [device, driver]
  } catch {
    return ['unknown', 'unknown']
  }
}
