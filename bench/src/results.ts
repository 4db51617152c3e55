import { execFile } from 'node:child_process'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual, promisify } from 'node:util'
import { ArbalestError, invalidOption } from './errors.js'
import { engine } from './internals.js'

const FOLDER = new URL('../results/', import.meta.url)
/** Where results are kept unless `--out` names another folder. */
export const RESULTS = fileURLToPath(FOLDER)

/** The commit that is measured, with a `+` if the working tree differs from it in more than results. */
export async function commit(): Promise<string> {
  try {
    return (
      (await git('rev-parse', '--short=12', 'HEAD')) +
      ((await git('status', '--porcelain', '--', ':/', ':(exclude,top)bench/results')) === '' ? '' : '+')
    )
  } catch {
    return 'unknown'
  }
}

async function git(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', args, { cwd: new URL('..', FOLDER) })
  return stdout.trim()
}

/** The date, the version and the machine of a measurement. */
export async function provenance(): Promise<{ readonly date: string; readonly commit: string; readonly machine: string }> {
  const { processor, cores, backends } = engine.describe()
  const cpu = backends.find(({ name }) => name === 'cpu')
  return { date: new Date().toISOString(), commit: await commit(), machine: `${processor}, ${cores} cores, ${cpu?.detail}` }
}

/** Returns a name that is a file name and not a path. Throws INVALID_OPTION. */
export function checkedName(name: string): string {
  if (!/^\w[\w.-]*$/.test(name)) throw invalidOption('--save', name, 'use letters, digits, dots and dashes')
  return name
}

interface SavedCase {
  readonly case: string
}

/** Writes the results with the commit, the date and the machine. Where nothing was measured, the file of an earlier start stays, and stderr says so. */
export async function saveResults(name: string, results: readonly object[]): Promise<void> {
  if (results.length === 0) return void process.stderr.write(`--save ${name}: nothing was measured, and nothing is written\n`)
  await writeResults(name, { ...(await measuredNow()), ...measuredHere(), results })
}

/**
 * Writes the result of a case with its commit and its date, in the place of the one that the file has of this case. Those of other cases stay, if they were
 * measured on such a machine.
 */
export async function saveCase(name: string, result: SavedCase): Promise<void> {
  const here = measuredHere()
  const others = (await casesOf(name, here)).filter((other) => other.case !== result.case)
  await writeResults(name, { ...here, results: [...others, { ...(await measuredNow()), ...result }] })
}

/** Throws DATA_CORRUPT where the file of this name is there and has no results, so that nothing is measured that cannot be saved beside them. */
export async function checkSaved(name: string): Promise<void> {
  await savedIn(name)
}

type Saved = Readonly<Record<string, unknown>> & { readonly results: readonly SavedCase[] }

async function savedIn(name: string): Promise<Saved | undefined> {
  const file = new URL(`${name}.json`, FOLDER)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  const fault = (found: string, cause?: unknown) =>
    new ArbalestError(
      'DATA_CORRUPT',
      `${fileURLToPath(file)}: expected the results of a bench, found ${found}; move it away, or save by another name`,
      {
        cause
      }
    )
  let saved: Saved
  try {
    saved = JSON.parse(text) as Saved
  } catch (error) {
    throw fault('no whole JSON', error)
  }
  if (!Array.isArray(saved?.results)) throw fault('other JSON')
  return saved
}

/** The cases of a file, each with its commit and its date; none if there is no file, or one of another machine. */
async function casesOf(name: string, here: ReturnType<typeof measuredHere>): Promise<readonly SavedCase[]> {
  const saved = await savedIn(name)
  if (!saved) return []
  const { results, machine, node, ...when } = saved
  return isDeepStrictEqual({ machine, node }, here) ? results.map((result) => ({ ...when, ...result })) : []
}

async function measuredNow(): Promise<{ readonly commit: string; readonly date: string }> {
  return { commit: await commit(), date: new Date().toISOString() }
}

function measuredHere() {
  const { processor, features, cores, backends } = engine.describe()
  return {
    machine: { processor, features, cores, engine: backends.find(({ name }) => name === 'cpu')?.detail },
    node: process.version
  }
}

/** Writes a file of bench/results as it is, whole or not at all: for results that already name their machine. */
export async function writeResults(name: string, record: object): Promise<void> {
  await mkdir(FOLDER, { recursive: true })
  const file = fileURLToPath(new URL(`${name}.json`, FOLDER))
  await writeFile(`${file}.new`, `${JSON.stringify(record, null, 2)}\n`)
  await rename(`${file}.new`, file)
}
