import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Bench, BenchOptions } from './bench.js'
import { chosenCases, workloadOf, type Case } from './cases.js'
import { ArbalestError, invalidOption } from './errors.js'
import { Allowance, OutOfTime } from './gpu/allowance.js'
import { Contest, type ContestOptions, type Starts } from './gpu/contest.js'
import { gridCases } from './gpu/grid.js'
import { Journal, readEntries } from './gpu/journal.js'
import { isMode, USUAL_MODES, WARM, type Mode } from './gpu/modes.js'
import { placeOf } from './gpu/place.js'
import { isWhole, resultOf, savedResults, type Result } from './gpu/result.js'
import { pythonsWithTorch, type Python } from './python.js'
import { Side } from './side.js'
import { Table } from './table.js'

const LEARNERS = fileURLToPath(new URL('./gpu/learners-child.js', import.meta.url))
const PEERS = fileURLToPath(new URL('../peers/', import.meta.url))
const RESULTS = new URL('../results/', import.meta.url)
/** With which it ends where time was up before all was measured: the same command goes on. */
const LEFT = 75

/** Seconds in which learners are warm: each shape of a convolution is searched for a plan once, up to half a second. */
const OURS_WARM = 180

function startOurs(one: Case, lockstep: boolean): Promise<Side> {
  const args = [LEARNERS, one.model, String(one.batch), String(one.learners), one.precision, 'cuda', String(lockstep)]
  return Side.start([{ program: process.execPath, args }], OURS_WARM * 1000)
}

function startPyTorch({ program }: Python, one: Case, mode: Mode): Promise<Side> {
  const { sample, count, classes } = workloadOf(one.model)
  const settings = { mode, model: one.model, batch: one.batch, learners: one.learners, count, classes, precision: one.precision }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  return Side.start([{ program, args: ['pytorch_gpu.py', '--sample', ...sample.map(String), ...args], cwd: PEERS }], WARM[mode] * 1000)
}

/** What is told of each case as soon as there is something to tell, and again where more is known. */
class Told {
  readonly #json: boolean
  readonly #table: Table
  readonly #torch: string

  constructor(json: boolean, torch: string) {
    this.#json = json
    this.#torch = torch
    this.#table = new Table([28, 10, 10, 7, 15], json ? null : process.stdout)
    this.#table.row(['case', 'images/s', 'PyTorch', 'ratio', 'min-max'])
  }

  tell(result: Result): void {
    if (this.#json) process.stdout.write(`${JSON.stringify(result)}\n`)
    const { compared, ours, lockstep, failures, peerModes } = result
    const [peer, ratio, range] = compared
      ? [compared.peerValue.toFixed(0), compared.ratio.toFixed(2), `${compared.min.toFixed(2)}-${compared.max.toFixed(2)}`]
      : ['-', '-', '-']
    this.#table.row([result.case, (compared?.value ?? ours?.median)?.toFixed(0) ?? 'failed', peer, ratio, range])
    if (compared?.apart) this.#table.note('compared in turns, each alone on the GPU: it has no memory for both')
    if (lockstep) this.#table.note(`in lockstep ${lockstep.median.toFixed(0)} images/s`)
    const modes = Object.entries(peerModes).map(([mode, rate]) => `${mode} ${typeof rate === 'string' ? rate : rate.median.toFixed(0)}`)
    this.#table.note(`PyTorch ${this.#torch}, ${compared?.peerMode ?? 'in no mode'}; ${modes.join(', ')}`)
    for (const [what, why] of Object.entries(failures)) this.#table.note(`${what}: ${why}`)
  }
}

/** All cases without compiling, then what compiling brings for each: a start that is cut off has the most that it could. Throws OutOfTime. */
async function measure(cases: readonly Case[], options: ContestOptions, tell: (one: Case) => void): Promise<void> {
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
    await contest.withoutCompiling()
    tell(one)
  })
  await inTurn(async (contest, one) => {
    if (await contest.compiled()) tell(one)
  })
}

/** What a folder's journal has, as a file of bench/results. */
async function collect(folder: string | undefined, name: string | undefined): Promise<void> {
  if (folder === undefined || name === undefined)
    throw invalidOption('gpu collect', 'no folder or no name', 'give --out FOLDER, which has the journal, and --save NAME')
  const results = savedResults(readEntries(folder), (subject) => chosenCases([subject])[0]!)
  if (results.length === 0) throw invalidOption('--out', folder, 'give a folder in which `gpu --out` has measured')
  await save(name, results)
  process.stdout.write(`bench/results/${name}.json: ${results.length} cases\n`)
}

async function save(name: string, results: readonly object[]): Promise<void> {
  await mkdir(RESULTS, { recursive: true })
  await writeFile(new URL(`${name}.json`, RESULTS), `${JSON.stringify({ bench: 'gpu', node: process.version, results }, null, 2)}\n`)
}

/** Learners on one GPU against PyTorch's best way of using it. */
export const gpu: Bench = {
  summary: 'images/s of training on a GPU, learners with SMA at every step against PyTorch: eager, CUDA graph, compiled, stacked replicas',
  filters: [
    'as throughput; without one: lenet resnet32, batch 16, 1 and 8 learners, bf16',
    'full: LeNet, ResNet-32 and VGG-16 at batch 8 to 64, ResNet-50 at 16 and 32, 1 to 32 learners; other words narrow it',
    "eager, graph, stacked, compile-graph, compile: PyTorch's modes to try (all)",
    '--out FOLDER keeps every measurement in FOLDER/bench-gpu.jsonl, where the next start goes on',
    `--budget M begins nothing that would hardly end within M minutes, and ends with ${LEFT} where something is left`,
    'collect --out FOLDER --save NAME: bench/results/NAME.json from what was measured there; needs no GPU'
  ],

  async run(filters: readonly string[], options: BenchOptions): Promise<void> {
    const words = filters.flatMap((filter) => filter.split(/\s+/)).filter((word) => word !== '')
    if (words.includes('collect')) return collect(options.out, options.save)
    const modes = words.filter(isMode)
    const others = words.filter((word) => !isMode(word) && word !== 'full')
    const cases = words.includes('full')
      ? gridCases(others)
      : chosenCases(others.length > 0 ? others : ['lenet', 'resnet32', 'b16', 'k1', 'k8', 'bf16'])
    const [python] = await pythonsWithTorch()
    const place = await placeOf(python!.torch)
    const journal = new Journal(place, options.out)
    const starts: Starts = {
      ours: (one, { lockstep }) => startOurs(one, lockstep),
      pytorch: (one, mode) => startPyTorch(python!, one, mode)
    }
    const contest: ContestOptions = {
      starts,
      journal,
      allowance: new Allowance(options.budget),
      modes: modes.length > 0 ? modes : USUAL_MODES,
      pairs: options.pairs,
      seconds: options.seconds,
      tell: (line) => void process.stderr.write(`${line}\n`)
    }
    const told = new Told(options.json, python!.torch)
    const results = () => cases.map((one) => resultOf(one, (subject, what) => journal.known(subject, what)))
    try {
      await measure(cases, contest, (one) => told.tell(results()[cases.indexOf(one)]!))
    } catch (error) {
      if (!(error instanceof OutOfTime)) throw error
      process.exitCode = LEFT
      process.stderr.write('gpu: time is up; the same command goes on\n')
    }
    const found = results()
    if (options.save !== undefined)
      await save(
        options.save,
        found.map((result) => ({ ...place, ...result }))
      )
    if (process.exitCode === LEFT) return
    const failed = found.filter((result) => !isWhole(result))
    if (failed.length > 0)
      throw new ArbalestError('INTERNAL', `gpu: ${failed.map((each) => each.case).join(', ')}: not all of it could be measured`)
  }
}
