import colours from 'picocolors'
import { EXIT, type ExitCode } from '../exit-codes.js'
import type { Finding } from './finding.js'
import { findings } from './findings.js'

/** `arbalest doctor`: fails where training cannot run. */
export function runDoctor({ json, version }: { json: boolean; version: string }): ExitCode {
  const found = findings()
  const healthy = found.every(({ status }) => status !== 'missing')
  process.stdout.write(
    json ? `${JSON.stringify({ event: 'doctor', healthy, version, findings: found })}\n` : report(version, found, healthy)
  )
  return healthy ? EXIT.done : EXIT.failed
}

const MARKS = { present: colours.green('ok     '), absent: colours.yellow('absent '), missing: colours.red('missing') }

function report(version: string, found: readonly Finding[], healthy: boolean): string {
  const width = Math.max(...found.map(({ name }) => name.length))
  const lines = found.map(({ name, status, detail, mend }) => {
    const advice = mend === undefined ? '' : `\n${' '.repeat(width + 10)}-> ${mend}`
    return `${MARKS[status]} ${name.padEnd(width)}  ${detail}${advice}`
  })
  const verdict = healthy ? colours.green('Training can run here.') : colours.red('Training cannot run here yet: mend what is missing.')
  return `arbalest ${version}\n${lines.join('\n')}\n${verdict}\n`
}
