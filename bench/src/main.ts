#!/usr/bin/env node
import { parseArgs } from 'node:util'
import type { Bench } from './bench.js'
import { benches } from './benches.js'
import { ArbalestError, invalidOption, unknownName } from './errors.js'
import { isHangUpIgnored } from './internals.js'
import { checkedName } from './results.js'
import { stopAllSides } from './side.js'

const USAGE = `Usage: npm run bench -- BENCH [FILTERS] [options]

Benches:
${[...benches].map(([name, bench]) => `  ${name.padEnd(14)}${bench.summary}\n${indented(bench.filters)}`).join('\n')}

Options:
  --json         one JSON object a line on stdout, nothing else there
  --pairs N      pairs of windows measured for each case (5)
  --seconds S    length of a window (3)
  --save NAME    writes the results to bench/results/NAME.json; throughput, beside those of other cases
  --peers NAMES  throughput: pytorch, jax, tfjs, separated by commas, or all (pytorch); gpu, record: none
  --ways TEXT    throughput: only the ways of peers of which the names have this text, such as '2 processes'
  --budget M     tta, gpu, record, hosts steps: minutes that this start may take; the next start continues
  --out FOLDER   tta, gpu, record, hosts steps and pace: the folder of the results (tta, hosts: bench/results)
  --pace         tta: first measures the seconds of an epoch again, on an otherwise idle machine
  --profile      no comparison: time, share of peak and bytes of every operator, and waiting times
  --help         this text
`

function indented(lines: readonly string[]): string {
  return lines.map((line) => ' '.repeat(16) + line).join('\n')
}

/** The number that an option gives. The text must be a number as a whole: `12x` is refused. */
function positive(flag: string, text: string | undefined, otherwise: number, whole: boolean): number {
  if (text === undefined) return otherwise
  const value = Number(text)
  if (text.trim() === '' || !(value > 0) || value === Infinity || (whole && !Number.isInteger(value))) {
    throw new ArbalestError('INVALID_OPTION', `--${flag}: received ${JSON.stringify(text)}; give a ${whole ? 'whole ' : ''}number above 0`)
  }
  return value
}

/** An option that changes nothing would have its user wait for another measurement than the one that was asked for. */
function requireTaken(flag: string, value: string | boolean, name: string, takes: Bench['takes']): void {
  if (takes.some((taken) => taken === flag)) return
  throw invalidOption(`--${flag}`, value, `${name} takes only ${['json', ...takes].map((taken) => `--${taken}`).join(', ')}`)
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      profile: { type: 'boolean' },
      pace: { type: 'boolean' },
      help: { type: 'boolean', default: false },
      pairs: { type: 'string' },
      seconds: { type: 'string' },
      save: { type: 'string' },
      budget: { type: 'string' },
      peers: { type: 'string' },
      ways: { type: 'string' },
      out: { type: 'string' }
    }
  })
  const [name, ...filters] = positionals
  if (values.help || name === undefined) {
    process.stdout.write(USAGE)
    process.exitCode = values.help ? 0 : 2
    return
  }
  const bench = benches.get(name)
  if (!bench) throw unknownName('bench', name, benches.keys())
  const { json, help: _, ...given } = values
  for (const [flag, value] of Object.entries(given)) {
    if (value === undefined) continue
    requireTaken(flag, value, name, bench.takes)
    // Nothing is compared, and nothing saved.
    if (values.profile) requireTaken(flag, value, `${name} --profile`, ['profile', 'seconds'])
  }
  await bench.run(filters, {
    json,
    profile: values.profile ?? false,
    pace: values.pace ?? false,
    pairs: positive('pairs', values.pairs, 5, true),
    seconds: positive('seconds', values.seconds, 3, false),
    ...(values.budget === undefined ? {} : { budget: positive('budget', values.budget, Infinity, false) }),
    ...(values.peers === undefined ? {} : { peers: values.peers }),
    ...(values.ways === undefined ? {} : { ways: values.ways }),
    ...(values.out === undefined ? {} : { out: values.out }),
    ...(values.save === undefined ? {} : { save: checkedName(values.save) })
  })
}

const EXIT = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143, brokenPipe: 141 } as const
// What a bench has started ends with it, also when its terminal is closed; under nohup both go on.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (signal === 'SIGHUP' && isHangUpIgnored()) return
    stopAllSides()
    process.exit(EXIT[signal])
  })
}

// A reader such as `head` that has seen enough ends the bench, and what it measures.
process.stdout.once('error', (error: NodeJS.ErrnoException) => {
  stopAllSides()
  if (error.code === 'EPIPE') process.exit(EXIT.brokenPipe)
  process.stderr.write(`WRITE_FAILED: stdout: ${error.message}\n`)
  process.exit(1)
})

main().catch((error: unknown) => {
  stopAllSides()
  const usage =
    (error instanceof ArbalestError && (error.code === 'INVALID_OPTION' || error.code === 'UNKNOWN_NAME')) ||
    (error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'))
  const message = error instanceof Error ? error.message : String(error)
  const code = error instanceof ArbalestError ? error.code : usage ? 'INVALID_OPTION' : 'INTERNAL'
  process.stderr.write(`${code}: ${message}\n`)
  process.exitCode = usage ? 2 : 1
})
