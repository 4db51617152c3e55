import type { Command } from 'commander'
import { SingleBar, Presets } from 'cli-progress'
import { checkData, getData, remoteNames, type CheckedData, type DownloadProgress } from '../index.js'
import { withFlagsOf } from './as-typed.js'
import type { CommonFlags, DefineCommand } from './command.js'
import { EXIT, type ExitCode } from './exit.js'
import { Pace } from './reporters/pace.js'
import { hasCursor } from './terminal.js'
import { bytes, external, percent, tableLines, type Column } from './text.js'

interface DataFlags extends CommonFlags {
  readonly dataDir?: string
  readonly mirror?: string
}

const DATA_DIR = ['--data-dir <folder>', 'the folder of all data sets (ARBALEST_DATA of the environment, else data)'] as const

/** The flags of options that have another name. */
const FLAG_OF = { directory: 'dataDir' }

export const defineData: DefineCommand = (data, { finish }) => {
  const named = (name: string, description: string): Command =>
    data
      .command(name)
      .description(description)
      .option(...DATA_DIR)
      .option('--json', 'write only JSON to stdout, one object per line')
  const get = named('get', 'Fetches published data sets, checks their SHA-256 and unpacks them; goes on where it was broken off.')
    .argument('<names...>', remoteNames.join(', '))
    .option('--mirror <url>', 'a folder that has the files, to try before the usual mirrors')
    .action(async (names: readonly string[], flags: DataFlags) => finish(await withFlagsOf(get, runGet(names, flags), FLAG_OF)))
  const check = named('check', 'Compares the files of published data sets with their SHA-256.')
    .argument('[names...]', `${remoteNames.join(', ')} (all that are there)`)
    .action(async (names: readonly string[], flags: DataFlags) => finish(await withFlagsOf(check, runCheck(names, flags), FLAG_OF)))
}

/** `arbalest data get`: fetches data sets one after the other, with a progress bar on a terminal, and lines of progress elsewhere. */
async function runGet(names: readonly string[], { dataDir: directory, mirror, json = false }: DataFlags): Promise<ExitCode> {
  for (const name of names) {
    const bar = json ? undefined : hasCursor(process.stderr) ? new DownloadBar() : new DownloadLines()
    try {
      const got = await getData(name, { directory, mirror, onProgress: (progress) => bar?.show(progress) })
      bar?.close()
      for (const { name: file, path, was } of got)
        process.stdout.write(`${json ? JSON.stringify({ event: 'got', data: name, file, path, was }) : `${was}: ${external(path)}`}\n`)
    } finally {
      bar?.close()
    }
  }
  return EXIT.done
}

const COLUMNS: readonly Column<CheckedData>[] = [
  { title: 'data', cell: ({ data }) => data, side: 'left' },
  { title: 'is', cell: ({ state }) => state, side: 'left' },
  { title: 'files', cell: ({ files }) => `${files.filter(({ state }) => state === 'right').length} of ${files.length}` }
]

/** `arbalest data check`: fails if a file has other bytes than the published one, or if a named data set is not whole. */
async function runCheck(names: readonly string[], { dataDir: directory, json = false }: DataFlags): Promise<ExitCode> {
  const checked = await checkData(names.length > 0 ? names : remoteNames, { directory })
  if (json) for (const each of checked) process.stdout.write(`${JSON.stringify({ event: 'checked', ...each })}\n`)
  else {
    process.stdout.write(`${tableLines(COLUMNS, checked).join('\n')}\n`)
    for (const { data, files } of checked)
      for (const { name, path = name, state, found } of files)
        if (state === 'wrong') process.stdout.write(`${data}: ${external(path)} is not the published file: ${external(found ?? '')}\n`)
  }
  const isFine = ({ state }: CheckedData) => state === 'whole' || (state === 'missing' && names.length === 0)
  return checked.every(isFine) ? EXIT.done : EXIT.failed
}

class DownloadBar {
  readonly #bar = new SingleBar(
    { format: '{bar} {percentage}%  {file}  {got} of {all}', stream: process.stderr, barsize: 24, fps: 5 },
    Presets.shades_classic
  )
  #file: string | undefined

  show({ file, bytes: got, of }: DownloadProgress): void {
    const values = { file, got: bytes(got), all: bytes(of) }
    if (this.#file !== file) {
      this.close()
      this.#bar.start(of, got, values)
      this.#file = file
    } else this.#bar.update(got, values)
  }

  close(): void {
    if (this.#file !== undefined) this.#bar.stop()
    this.#file = undefined
  }
}

/** A line now and then, on stderr as the bar. */
class DownloadLines {
  readonly #pace = new Pace()

  show({ file, bytes: got, of }: DownloadProgress): void {
    if (this.#pace.isDue()) process.stderr.write(`${external(file)}: ${percent(got / of)} of ${bytes(of)}\n`)
  }

  close(): void {}
}
