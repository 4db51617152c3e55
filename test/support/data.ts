import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { skip } from './skip.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** Where the files of a data set lie: below the folder named by ARBALEST_DATA, else below ../shared/data beside the repository. */
export function dataDirectory(name: string): string | undefined {
  const folder = join(process.env['ARBALEST_DATA'] ?? join(ROOT, '../shared/data'), name)
  return existsSync(folder) ? folder : undefined
}

/** The same, for a test that cannot run without: where the data is absent the test is skipped, and the run's last lines say why. */
export function requireData(test: Mocha.Context, name: string): string {
  const folder = dataDirectory(name)
  return folder ?? skip(test, `no folder ${name} in ARBALEST_DATA or in ../shared/data`)
}
