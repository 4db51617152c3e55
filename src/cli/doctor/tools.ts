import { spawnSync } from 'node:child_process'

/** The first line that a program says, or undefined where it is not installed or does not answer. */
export function firstLineOf(command: string, ...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8', timeout: 10_000 })
  return status === 0 ? stdout.split('\n')[0]?.trim() : undefined
}
