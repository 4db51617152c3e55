import { spawnSync } from 'node:child_process'

/** What a program prints. Throws an error with its whole output if it fails. */
export function run(program, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 28, ...options })
  if (status === 0) return stdout
  throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? `status ${status}`}\n${stdout ?? ''}${stderr ?? ''}`)
}
