import { fileURLToPath } from 'node:url'
import { openDataset } from './arbalest.js'
import type { Bench, BenchOptions } from './bench.js'
import { ArbalestError, invalidOption } from './errors.js'
import { Allowance, OutOfTime } from './gpu/allowance.js'
import { placeOf } from './gpu/place.js'
import { describeCuda, engine } from './internals.js'
import { pythonsWithTorch } from './python.js'
import { contest, resultIn, type ContestOptions, type Runner } from './record/contest.js'
import { CONTESTANTS, Journal, latestJournal, type Contestant, type Settings } from './record/journal.js'
import { summaryOf, TARGET, type Figures } from './record/summary.js'
import { asked } from './record/words.js'
import { writeResults } from './results.js'
import { Side, type Command } from './side.js'
import { Table } from './table.js'

const OURS = fileURLToPath(new URL('./record/ours-child.js', import.meta.url))
const PEERS = fileURLToPath(new URL('../peers/', import.meta.url))
/** The exit code if the time is up before all runs are made; the same command then continues. */
const INCOMPLETE = 75
/** Milliseconds that a side may take to warm up, and a run on a GPU; one on a CPU may take hours. */
const WARM = 180_000
const RUN = { cuda: 180_000, cpu: 12 * 3_600_000 } as const

async function startSide(command: Command, deadline: { readonly warm: number; readonly run: number }): Promise<Runner> {
  const side = await Side.start([command], deadline.warm)
  return { run: async (seed) => resultIn(await side.ask(`run ${seed}`, deadline.run)), close: () => side.close() }
}

function startOurs(settings: Settings): Promise<Runner> {
  const command = { program: process.execPath, args: [OURS, JSON.stringify(settings)] }
  const run = RUN[settings.backend]
  return startSide(command, { warm: settings.backend === 'cuda' ? WARM : run, run })
}

/** The Python whose PyTorch can use the GPU and that has the package airbench; else why there is none, in one sentence. */
async function airbenchPython(): Promise<{ readonly program: string; readonly torch: string } | string> {
  try {
    const [python] = await pythonsWithTorch()
    const side = await Side.start([{ program: python!.program, args: ['airbench_train.py', '--check'], cwd: PEERS }], WARM)
    side.close()
    return side.greeting['ready'] === true ? python! : String(side.greeting['why'])
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function hasGpu(): boolean {
  const report = describeCuda()
  return typeof report !== 'string' && report.devices.length > 0
}

/** Prints each run, and at the end what both sides have reached. */
class Report {
  readonly #json: boolean
  readonly #table: Table

  constructor({ json }: BenchOptions) {
    this.#json = json
    this.#table = new Table([12, 24, 10, 10, 10, 10], json ? null : process.stdout)
    this.#table.row(['side', 'run', 'seconds', 'wall', 'accuracy', 'plain'])
  }

  readonly onRun: ContestOptions['onRun'] = (contestant, seed, finding) => {
    this.#line({ bench: 'record', contestant, seed, ...finding })
    if ('failure' in finding) this.#table.note(`${contestant}, seed ${seed}: ${finding.failure}`)
    else {
      const { seconds, wallSeconds, accuracy, plainAccuracy } = finding
      this.#table.row([contestant, `seed ${seed}`, seconds.toFixed(3), wallSeconds.toFixed(3), percent(accuracy), percent(plainAccuracy)])
    }
  }

  note(text: string): void {
    if (this.#json) process.stderr.write(`record: ${text}\n`)
    this.#table.note(text)
  }

  /** Mean and spread of a side's runs. */
  summary(contestant: Contestant, journal: Journal): object | undefined {
    const summary = summaryOf(journal.results(contestant))
    if (!summary) return undefined
    const { seconds, wallSeconds, accuracy, plainAccuracy, reached } = summary
    const named = { bench: 'record', contestant, target: TARGET, ...summary }
    this.#line(named)
    for (const name of ['mean', 'median', 'min', 'max', 'deviation'] as const) {
      const cell = (figures: Figures, shown: (value: number) => string): string => (figures[name] === null ? '-' : shown(figures[name]))
      const inSeconds = (value: number): string => value.toFixed(3)
      const cells = [cell(seconds, inSeconds), cell(wallSeconds, inSeconds), cell(accuracy, percent), cell(plainAccuracy, percent)]
      this.#table.row([contestant, `${name} of ${seconds.n}`, ...cells])
    }
    this.#table.note(`${contestant}: ${percent(reached)} of the runs reach ${percent(TARGET)}`)
    return named
  }

  #line(value: object): void {
    if (this.#json) process.stdout.write(`${JSON.stringify(value)}\n`)
  }
}

const percent = (share: number): string => `${(100 * share).toFixed(2)}%`

/** What both sides have reached, and every run of theirs with its commit and its machine. */
async function save(name: string, journal: Journal, report: Report): Promise<void> {
  const summaries = CONTESTANTS.flatMap((contestant) => report.summary(contestant, journal) ?? [])
  const runs = CONTESTANTS.flatMap((contestant) => journal.results(contestant))
  await writeResults(name, { bench: 'record', summaries, runs })
}

/** CIFAR-10 to 94% by many learners on one device, with mean and spread, beside airbench94 on the same GPU. */
export const record: Bench = {
  summary: 'seconds to 94% of CIFAR-10 by many learners, mean and spread of many runs, beside airbench94 on the same GPU; resumable',
  filters: [
    'cuda, cpu: the backend (cuda where there is a GPU); f32, bf16: the precision (bf16); n20: runs of each side, with seeds 1 to 20',
    '--peers none: without airbench94',
    'narrow8, steps4: an eighth of the channels, four steps of each learner: to try the bench out',
    '--out FOLDER records every run in FOLDER/bench-record.jsonl, from which the next start continues',
    `--budget M starts no run that would probably end after M minutes; the exit code is ${INCOMPLETE} if some are missing`,
    'collect --out FOLDER --save NAME writes the runs of FOLDER to bench/results/NAME.json, with mean and spread; needs no GPU'
  ],

  async run(filters, options) {
    const report = new Report(options)
    if (filters.includes('collect')) {
      const { out, save: name } = options
      const journal = out === undefined ? undefined : latestJournal(out)
      if (!journal || name === undefined)
        throw invalidOption('record collect', { out, save: name }, 'give --out FOLDER, in which `record` has trained, and --save NAME')
      return save(name, journal, report)
    }
    const { runs, backend = hasGpu() ? 'cuda' : 'cpu', ...wanted } = asked(filters)
    const settings: Settings = { ...wanted, backend }
    // Missing files are an error before anything is started.
    await openDataset('cifar-10')
    const peer = options.peers === 'none' ? '--peers none' : backend === 'cpu' ? 'it trains on a GPU alone' : await airbenchPython()
    if (typeof peer === 'string') report.note(`airbench94 is left out: ${peer}`)
    const place = await placeOf(typeof peer === 'string' ? 'none' : peer.torch)
    const here = backend === 'cpu' ? { ...place, device: engine.describe().processor, driver: 'none' } : place
    const journal = new Journal(here, settings, options.out)
    const airbench = (program: string): Command => ({ program, args: ['airbench_train.py'], cwd: PEERS })
    try {
      await contest({
        journal,
        runs,
        starts: {
          arbalest: () => startOurs(settings),
          ...(typeof peer !== 'string' && { airbench94: () => startSide(airbench(peer.program), { warm: WARM, run: RUN.cuda }) })
        },
        allowance: new Allowance(options.budget),
        onRun: report.onRun
      })
    } catch (error) {
      if (!(error instanceof OutOfTime)) throw error
      process.exitCode = INCOMPLETE
      report.note('the time is up; the same command continues')
    }
    if (options.save === undefined) for (const contestant of CONTESTANTS) report.summary(contestant, journal)
    else await save(options.save, journal, report)
    if (process.exitCode === INCOMPLETE) return
    const failed = CONTESTANTS.flatMap((contestant) => journal.failed(contestant).map(({ seed }) => `${contestant} with seed ${seed}`))
    if (failed.length > 0)
      throw new ArbalestError('INTERNAL', `record: ${[...new Set(failed)].join(', ')}: no run; the lines above say why`)
  }
}
