// Common parts of the scripts that build harnesses of the native core and run each for some seconds.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Parses `[--seconds N] [HARNESS...]`: 60 seconds and all harnesses by default. */
export function asked(known) {
  try {
    const { values, positionals } = parseArgs({ allowPositionals: true, options: { seconds: { type: 'string', default: '60' } } })
    const strangers = positionals.filter((name) => !known.includes(name))
    if (strangers.length > 0) end(`harness: received ${strangers.join(', ')}; use ${known.join(', ')}`)
    if (!/^[1-9]\d{0,6}$/.test(values.seconds)) end(`--seconds: received ${values.seconds}; use a whole number above 0`)
    return { seconds: values.seconds, harnesses: positionals.length > 0 ? positionals : known }
  } catch (error) {
    return end(error.message)
  }
}

/** Runs the command, and ends this process if it fails. */
export function step(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) end(`${command} ${args[0]} failed${error ? ` (${error.message})` : ''}; build the project first: npm run setup`)
}

/** Whether a harness found nothing. */
export function runs(harness, command, args) {
  process.stderr.write(`\n== ${harness}\n`)
  return spawnSync(command, args, { stdio: 'inherit' }).status === 0
}

export function end(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}
