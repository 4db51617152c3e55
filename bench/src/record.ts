import { openDataset } from './arbalest.js'
import { isWithoutPeer, type Bench, type BenchOptions } from './bench.js'
import { ArbalestError, invalidOption } from './errors.js'
import { Allowance, OutOfTime } from './gpu/allowance.js'
import { placeOf, whyNoGpu } from './gpu/place.js'
import { engine } from './internals.js'
import { contest } from './record/contest.js'
import { CONTESTANTS, Journal, latestJournal, type Settings } from './record/journal.js'
import { Report } from './record/report.js'
import { airbenchPython, startAirbench, startOurs } from './record/sides.js'
import { summaryOf, TARGET, type NamedSummary } from './record/summary.js'
import { asked } from './record/words.js'
import { writeResults } from './results.js'

/** The exit code if the time is up before all runs are made; the same command then continues. */
const INCOMPLETE = 75

/** Of each side that has trained. */
function summariesIn(journal: Journal): readonly NamedSummary[] {
  return CONTESTANTS.flatMap((contestant) => {
    const summary = summaryOf(journal.results(contestant))
    return summary ? [{ bench: 'record', contestant, target: TARGET, ...summary }] : []
  })
}

/** What both sides have reached, and every run of theirs with its commit and its machine. */
async function save(name: string, journal: Journal, report: Report): Promise<void> {
  const summaries = summariesIn(journal)
  for (const summary of summaries) report.summary(summary)
  const runs = CONTESTANTS.flatMap((contestant) => journal.results(contestant))
  await writeResults(name, { bench: 'record', summaries, runs })
}

/** Writes the runs of a folder's journal as a file of bench/results. */
async function collect(words: readonly string[], options: BenchOptions): Promise<void> {
  if (words.length > 1) throw invalidOption('record', words.join(' '), 'give collect alone: it writes every run of the folder')
  const { out, save: name } = options
  if (out === undefined || name === undefined)
    throw invalidOption('record collect', 'no folder or no name', 'give --out FOLDER, in which `record` has trained, and --save NAME')
  const journal = latestJournal(out)
  if (!journal) throw invalidOption('--out', out, 'give a folder in which `record --out` has trained')
  await save(name, journal, new Report(options))
}

/** CIFAR-10 to 94% by many learners on one device, with mean and spread, beside airbench94 on the same GPU. */
export const record: Bench = {
  summary: 'seconds to 94% of CIFAR-10 by many learners, mean and spread of many runs, beside airbench94 on the same GPU; resumable',
  filters: [
    'cuda, cpu: the backend (cuda where there is a GPU); f32, bf16: the precision (bf16); n20: runs of each side, with seeds 1 to 20',
    '--peers none: without airbench94',
    'epochs12: 12 epochs in the place of the 16 of the recipe',
    'narrow8, steps4: an eighth of the channels, four steps of each learner: to try the bench out',
    '--out FOLDER records every run in FOLDER/bench-record.jsonl, from which the next start continues',
    `--budget M starts no run that would probably end after M minutes; the exit code is ${INCOMPLETE} if some are missing`,
    'collect --out FOLDER --save NAME writes the runs of FOLDER to bench/results/NAME.json, with mean and spread; needs no GPU'
  ],
  takes: ['save', 'peers', 'budget', 'out'],

  async run(filters, options) {
    if (filters.includes('collect')) return collect(filters, options)
    const reason = whyNoGpu()
    const { runs, backend = reason === undefined ? 'cuda' : 'cpu', ...wanted } = asked(filters)
    if (backend === 'cuda' && reason !== undefined) throw new ArbalestError('BACKEND_UNAVAILABLE', reason)
    const settings: Settings = { ...wanted, backend }
    const alone = isWithoutPeer(options)
    const report = new Report(options)
    // Missing files are an error before anything is started.
    await openDataset('cifar-10')
    const peer = alone ? '--peers none' : backend === 'cpu' ? 'it trains on a GPU alone' : await airbenchPython()
    if (typeof peer === 'string') report.note(`airbench94 is left out: ${peer}`)
    const place = await placeOf(typeof peer === 'string' ? 'none' : peer.torch)
    const here = backend === 'cpu' ? { ...place, device: engine.describe().processor, driver: 'none' } : place
    const journal = new Journal(here, settings, options.out)
    try {
      await contest({
        journal,
        runs,
        starts: {
          arbalest: () => startOurs(settings),
          ...(typeof peer !== 'string' && { airbench94: () => startAirbench(peer.program) })
        },
        allowance: new Allowance(options.budget),
        onRun: report.onRun
      })
    } catch (error) {
      if (!(error instanceof OutOfTime)) throw error
      process.exitCode = INCOMPLETE
      report.note('the time is up; the same command continues')
    }
    if (options.save === undefined) for (const summary of summariesIn(journal)) report.summary(summary)
    else await save(options.save, journal, report)
    if (process.exitCode === INCOMPLETE) return
    const failed = CONTESTANTS.flatMap((contestant) => journal.failed(contestant).map(({ seed }) => `${contestant} with seed ${seed}`))
    if (failed.length > 0)
      throw new ArbalestError('INTERNAL', `record: ${[...new Set(failed)].join(', ')}: no run; the lines above say why`)
  }
}
