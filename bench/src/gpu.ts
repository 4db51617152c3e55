import { fileURLToPath } from 'node:url'
import { isWithoutPeer, type Bench, type BenchOptions } from './bench.js'
import { chosenCases, workloadOf, type Case } from './cases.js'
import { ArbalestError, invalidOption } from './errors.js'
import { Allowance, OutOfTime } from './gpu/allowance.js'
import { Contest, type ContestOptions, type Starts } from './gpu/contest.js'
import { gridCases } from './gpu/grid.js'
import { Journal, readEntries } from './gpu/journal.js'
import { isMode, USUAL_MODES, WARM, type How, type Mode } from './gpu/modes.js'
import { placeOf, whyNoGpu } from './gpu/place.js'
import { isWhole, resultOf, savedResults, type Result } from './gpu/result.js'
import { pythonsWithTorch, type Python } from './python.js'
import { writeResults } from './results.js'
import { Side } from './side.js'
import { Table } from './table.js'

const LEARNERS = fileURLToPath(new URL('./gpu/learners-child.js', import.meta.url))
const PEERS = fileURLToPath(new URL('../peers/', import.meta.url))
/** The exit code if the time is up before everything is measured; the same command then continues. */
const INCOMPLETE = 75

/** Seconds that our learners may take to warm up: the search for the plan of each convolution takes up to half a second. */
const OURS_WARM = 180

function startOurs(one: Case, { lockstep, banks }: How): Promise<Side> {
  const args = [LEARNERS, one.model, String(one.batch), String(one.learners), one.precision, 'cuda', String(lockstep)]
  const env = { ARBALEST_CUDA_BANK: String(banks > 0 ? Math.ceil(one.learners / banks) : 0) }
  return Side.start([{ program: process.execPath, args, env }], OURS_WARM * 1000)
}

function startPyTorch({ program }: Python, one: Case, mode: Mode): Promise<Side> {
  const { sample, count, classes } = workloadOf(one.model)
  const settings = { mode, model: one.model, batch: one.batch, learners: one.learners, count, classes, precision: one.precision }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  return Side.start([{ program, args: ['pytorch_gpu.py', '--sample', ...sample.map(String), ...args], cwd: PEERS }], WARM[mode] * 1000)
}

/** Writes the results of each case as soon as there are some, and again when there are more. */
class ResultWriter {
  readonly #json: boolean
  readonly #table: Table
  readonly #torch: string

  constructor(json: boolean, torch: string) {
    this.#json = json
    this.#torch = torch
    this.#table = new Table([28, 10, 10, 7, 15], json ? null : process.stdout)
    this.#table.row(['case', 'a second', 'PyTorch', 'ratio', 'min-max'])
  }

  write(result: Result): void {
    if (this.#json) process.stdout.write(`${JSON.stringify(result)}\n`)
    const { compared, ours, ways, failures, peerModes } = result
    const [peer, ratio, range] = compared
      ? [compared.peerValue.toFixed(0), compared.ratio.toFixed(2), `${compared.min.toFixed(2)}-${compared.max.toFixed(2)}`]
      : ['-', '-', '-']
    this.#table.row([result.case, (compared?.value ?? ours?.median)?.toFixed(0) ?? 'failed', peer, ratio, range])
    if (compared?.apart) this.#table.note('compared in turns, each alone on the GPU, whose memory does not hold both')
    const others = Object.entries(ways).map(([way, rate]) => `${way} ${rate.median.toFixed(0)}`)
    if (others.length > 0) this.#table.note(`ours in other ways: ${others.join(', ')}`)
    if (this.#torch !== 'none') {
      const modes = Object.entries(peerModes).map(([mode, rate]) => `${mode} ${typeof rate === 'string' ? rate : rate.median.toFixed(0)}`)
      this.#table.note(`PyTorch ${this.#torch}, ${compared?.peerMode ?? 'in no mode'}; ${modes.join(', ')}`)
    }
    for (const [what, why] of Object.entries(failures)) this.#table.note(`${what}: ${why}`)
  }
}

/** Measures all cases without compilation first and then with it, so that an interrupted start has measured the most important ones. Throws OutOfTime. */
async function measure(cases: readonly Case[], options: ContestOptions, alone: boolean, report: (one: Case) => void): Promise<void> {
  const inTurn = async (each: (contest: Contest, one: Case) => Promise<void>): Promise<void> => {
    for (const one of cases) {
      const contest = new Contest(one, options)
      try {
        await each(contest, one)
      } finally {
        contest.close()
      }
    }
  }
  await inTurn(async (contest, one) => {
    await (alone ? contest.oursAlone() : contest.withoutCompiling())
    report(one)
  })
  if (alone) return
  await inTurn(async (contest, one) => {
    if (await contest.compiled()) report(one)
  })
}

/** Writes the contents of a folder's journal as a file of bench/results. */
async function collect(words: readonly string[], { out: folder, save: name, json }: BenchOptions): Promise<void> {
  if (words.length > 1) throw invalidOption('gpu', words.join(' '), 'give collect alone: it writes every case of the folder')
  if (folder === undefined || name === undefined)
    throw invalidOption('gpu collect', 'no folder or no name', 'give --out FOLDER, the folder of the journal, and --save NAME')
  const results = savedResults(readEntries(folder), (subject) => chosenCases([subject])[0]!)
  if (results.length === 0) throw invalidOption('--out', folder, 'give a folder in which `gpu --out` has measured')
  await save(name, results)
  const stream = json ? process.stderr : process.stdout
  stream.write(`bench/results/${name}.json: ${results.length} cases\n`)
}

function save(name: string, results: readonly object[]): Promise<void> {
  return writeResults(name, { bench: 'gpu', node: process.version, results })
}

/** Learners on one GPU against the fastest mode of PyTorch. */
export const gpu: Bench = {
  summary:
    'images/s, or for gpt tokens/s, of training on a GPU: learners with SMA at every step against PyTorch: eager, CUDA graph, compiled, replicas on streams and stacked',
  filters: [
    'as for throughput; default: lenet resnet32, batch 16, 1 and 8 learners, bf16',
    'full: LeNet, ResNet-32 and VGG-16 at batch 8 to 64, ResNet-50 at 16 and 32, 1 to 32 learners; other words narrow it',
    'eager, graph, streams, stacked, compile-graph, compile: the modes of PyTorch to try (default: all)',
    '--out FOLDER records every measurement in FOLDER/bench-gpu.jsonl, from which the next start continues',
    `--budget M starts no measurement that would probably end after M minutes; the exit code is ${INCOMPLETE} if some are missing`,
    '--peers none: our learners on streams alone, to compare two settings of ours',
    'collect --out FOLDER --save NAME writes the measurements of FOLDER to bench/results/NAME.json; needs no GPU'
  ],
  takes: ['pairs', 'seconds', 'save', 'peers', 'budget', 'out'],

  async run(filters: readonly string[], options: BenchOptions): Promise<void> {
    const words = filters.flatMap((filter) => filter.split(/\s+/)).filter((word) => word !== '')
    if (words.includes('collect')) return collect(words, options)
    const modes = words.filter(isMode)
    const others = words.filter((word) => !isMode(word) && word !== 'full')
    const cases = words.includes('full')
      ? gridCases(others)
      : chosenCases(others.length > 0 ? others : ['lenet', 'resnet32', 'b16', 'k1', 'k8', 'bf16'])
    const alone = isWithoutPeer(options)
    const reason = whyNoGpu()
    if (reason !== undefined) throw new ArbalestError('BACKEND_UNAVAILABLE', reason)
    const [python] = alone ? [{ program: '', torch: 'none' }] : await pythonsWithTorch()
    const place = await placeOf(python!.torch)
    const journal = new Journal(place, options.out)
    const starts: Starts = {
      ours: startOurs,
      pytorch: (one, mode) => startPyTorch(python!, one, mode)
    }
    const contest: ContestOptions = {
      starts,
      journal,
      allowance: new Allowance(options.budget),
      modes: modes.length > 0 ? modes : USUAL_MODES,
      pairs: options.pairs,
      seconds: options.seconds,
      log: (line) => void process.stderr.write(`${line}\n`)
    }
    const writer = new ResultWriter(options.json, python!.torch)
    const results = () => cases.map((one) => resultOf(one, (subject, what) => journal.known(subject, what)))
    try {
      await measure(cases, contest, alone, (one) => writer.write(results()[cases.indexOf(one)]!))
    } catch (error) {
      if (!(error instanceof OutOfTime)) throw error
      process.exitCode = INCOMPLETE
      process.stderr.write('gpu: the time is up; the same command continues\n')
    }
    const found = results()
    if (options.save !== undefined)
      await save(
        options.save,
        found.map((result) => ({ ...place, ...result }))
      )
    if (process.exitCode === INCOMPLETE) return
    const failed = found.filter((result) => !isWhole(result, alone))
    if (failed.length > 0)
      throw new ArbalestError('INTERNAL', `gpu: ${failed.map((each) => each.case).join(', ')}: some measurements failed`)
  }
}
