import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Bench, BenchOptions } from './bench.js'
import { ArbalestError, unknownName } from './errors.js'
import { comparison, type Comparison } from './pairs.js'
import { pythonsWithTorch, tunedEnvironment } from './python.js'
import { saveResults } from './results.js'
import type { Command } from './side.js'
import { Table } from './table.js'

/** One line of `--json`. `value` and `peerValue` are medians in milliseconds; `ratio` is the peer's time divided by ours, above 1 if ours is shorter. */
interface Result extends Comparison {
  readonly bench: 'start-up'
  readonly case: string
  readonly peer: 'pytorch'
  readonly peerMode: string
  readonly unit: 'ms'
}

/** A command, and how to see in a line of its output that what is timed is done. */
interface Timed extends Command {
  readonly isDone: (line: string) => boolean
}

interface Subject {
  readonly name: string
  readonly ours: Timed
  readonly peer: (python: string) => Timed
}

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const prints =
  (text: string) =>
  (line: string): boolean =>
    line.includes(text)

const TRAIN = ['train', '--model', 'lenet', '--data', 'digits', '--learners', '1', '--batch', '16', '--steps', '1', '--json']
const SUBJECTS: readonly Subject[] = [
  {
    name: 'import',
    ours: {
      program: process.execPath,
      args: [
        '--input-type=module',
        '--eval',
        `await import('${new URL('../../dist/src/index.js', import.meta.url).href}'); console.log('imported')`
      ],
      isDone: prints('imported')
    },
    peer: (python) => ({ program: python, args: ['-c', 'import torch; print("imported", flush=True)'], isDone: prints('imported') })
  },
  {
    name: 'first step lenet b16',
    ours: { program: process.execPath, args: [here('../../bin/arbalest.js'), ...TRAIN], isDone: prints('"event":"progress"') },
    peer: (python) => ({ program: python, args: [here('../peers/pytorch_first_step.py')], isDone: prints('first step') })
  }
]

/** Milliseconds from the start of a process until it has done what is timed. Throws ACTOR_GONE if it ends before. */
async function timeOf({ program, args, env, isDone }: Timed): Promise<number> {
  const start = performance.now()
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } })
  const ended = once(child, 'close')
  for await (const line of createInterface({ input: child.stdout })) {
    if (!isDone(line)) continue
    const elapsed = performance.now() - start
    child.stdout.resume()
    await ended
    return elapsed
  }
  throw new ArbalestError('ACTOR_GONE', `${[program, ...args].join(' ')} ended early; run it by hand to see why`)
}

async function measure(
  { name, ours, peer }: Subject,
  { program, torch }: { program: string; torch: string },
  { pairs }: BenchOptions
): Promise<Result> {
  const theirs = { ...peer(program), env: tunedEnvironment(1) }
  // Both come from the disk the first time.
  for (const each of [ours, theirs]) await timeOf(each)
  const [times, peerTimes]: [number[], number[]] = [[], []]
  for (let pair = 0; pair < pairs; pair++) {
    times.push(await timeOf(ours))
    peerTimes.push(await timeOf(theirs))
  }
  const { ratio, value, peerValue, ...rest } = comparison(peerTimes, times)
  return {
    bench: 'start-up',
    case: name,
    peer: 'pytorch',
    peerMode: `PyTorch ${torch}, eager`,
    unit: 'ms',
    value: peerValue,
    peerValue: value,
    ratio,
    ...rest
  }
}

/** What a user waits for before anything is trained. */
export const startUp: Bench = {
  summary: 'milliseconds from the start of a process to `arbalest` imported, and to the first step of LeNet trained, against PyTorch',
  filters: ['import, first-step; both if omitted; --pairs N processes of each side'],
  takes: ['pairs', 'save'],

  async run(filters, options) {
    const named = (word: string): Subject | undefined => SUBJECTS.find(({ name }) => name.replaceAll(' ', '-').startsWith(word))
    const unknown = filters.find((word) => named(word) === undefined)
    if (unknown !== undefined) throw unknownName('case', unknown, ['import', 'first-step'])
    const [python] = await pythonsWithTorch()
    const table = new Table([24, 10, 10, 7, 15], options.json ? null : process.stdout)
    table.row(['case', 'ms', 'peer', 'ratio', 'min-max'])
    const results: Result[] = []
    for (const subject of filters.length > 0 ? filters.map((word) => named(word)!) : SUBJECTS) {
      const result = await measure(subject, python!, options)
      results.push(result)
      if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
      const { value, peerValue, ratio, min, max } = result
      table.row([result.case, value.toFixed(0), peerValue.toFixed(0), ratio.toFixed(2), `${min.toFixed(2)}-${max.toFixed(2)}`])
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}
