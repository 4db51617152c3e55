import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { invalidOption } from './errors.js'
import { engine } from './internals.js'

const FOLDER = new URL('../results/', import.meta.url)
/** Where results are kept unless `--out` names another folder. */
export const RESULTS = fileURLToPath(FOLDER)

/** The commit that is measured, with a `+` if the working tree differs from it. */
export async function commit(): Promise<string> {
  try {
    return (await git('rev-parse', '--short=12', 'HEAD')) + ((await git('status', '--porcelain')) === '' ? '' : '+')
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

/** Writes the results with the commit, the date and the machine. */
export async function saveResults(name: string, results: readonly object[]): Promise<void> {
  const { processor, features, cores, backends } = engine.describe()
  const machine = { processor, features, cores, engine: backends.find((backend) => backend.name === 'cpu')?.detail }
  const record = { commit: await commit(), date: new Date().toISOString(), machine, node: process.version, results }
  await mkdir(FOLDER, { recursive: true })
  await writeFile(new URL(`${name}.json`, FOLDER), `${JSON.stringify(record, null, 2)}\n`)
}
