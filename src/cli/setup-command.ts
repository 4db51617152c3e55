import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { EXIT, type ExitCode } from './exit.js'

export interface SetupFlags {
  readonly cuda?: boolean
}

const SCRIPTS = new URL('../../../scripts/', import.meta.url)

const ENGINE = [['bash', 'setup']] as const
const CUDA = [
  [process.execPath, 'setup-cuda.js'],
  [process.execPath, 'build-cuda.js']
] as const

/** `arbalest setup`: what `npm install` does, for those whose npm runs no scripts of packages or who lacked a compiler then. The scripts tell faults. */
export function runSetup({ cuda = false }: SetupFlags): ExitCode {
  for (const [program, script] of [...ENGINE, ...(cuda ? CUDA : [])]) {
    const { status, error } = spawnSync(program, [fileURLToPath(new URL(script, SCRIPTS))], { stdio: 'inherit' })
    if (error) process.stderr.write(`SETUP_FAILED: ${program}: ${error.message}; install it, then run this again\n`)
    if (status !== 0) return EXIT.failed
  }
  return EXIT.done
}
