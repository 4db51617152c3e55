// Reads command lines as JSON from stdin and carries them out in turn: to stdout goes, as JSON, what each wrote and its exit code.
import { text } from 'node:stream/consumers'

// Each instance of the command line adds listeners.
process.setMaxListeners(0)
for (const stream of [process.stdout, process.stderr]) stream.setMaxListeners(0)
const commandLines = JSON.parse(await text(process.stdin)) as string[][]
const main = new URL('../../../src/cli/main.js', import.meta.url)
const write = process.stdout.write.bind(process.stdout)
const written = { stdout: '', stderr: '' }
for (const stream of ['stdout', 'stderr'] as const)
  process[stream].write = (chunk: string | Uint8Array): boolean => {
    written[stream] += String(chunk)
    return true
  }
const ended: { code: number; stdout: string; stderr: string }[] = []
for (const [number, args] of commandLines.entries()) {
  Object.assign(written, { stdout: '', stderr: '' })
  process.argv = [process.execPath, 'arbalest', ...args]
  process.exitCode = 0
  // The module runs the command line: another address is another instance of it.
  await import(`${main.href}?${number}`)
  ended.push({ code: process.exitCode, ...written })
}
process.exitCode = 0
write(JSON.stringify(ended))
