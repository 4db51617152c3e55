import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { foreignLibraries, newerSymbols } from './symbols.js'

const MIB = 2 ** 20
/** No published file has one of these endings, nor lies in one of these folders. */
const UNWANTED = /\.(?:map|tsbuildinfo|log|tgz|o|a)$|(?<!\.d)\.ts$|^(?:test|bench|node_modules|native\/build)\//

/** A line for each fault of the package in `folder`, whose limit in bytes is of its files as they are installed. */
export function faultsOf(folder, { required, bytes }) {
  const files = filesBelow(folder)
  const size = files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
  return [
    ...required.filter((file) => !files.includes(file)).map((file) => `${file} is missing`),
    ...files.filter((file) => UNWANTED.test(file) && !file.startsWith('native/src/')).map((file) => `${file} must not be in it`),
    ...(size > bytes ? [`it is ${(size / MIB).toFixed(1)} MiB, more than ${bytes / MIB}`] : []),
    ...files.filter((file) => /\.(?:node|so)(?:\.\d+)*$/.test(file)).flatMap((file) => faultsOfLibrary(folder, file))
  ]
}

function faultsOfLibrary(folder, file) {
  const path = join(folder, file)
  const elsewhere = foreignLibraries(path).filter((library) => library.path === undefined || !existsSync(join(folder, library.name)))
  const outside = foreignLibraries(path).filter((library) => library.path !== undefined && !library.path.startsWith(`${folder}/`))
  return [
    ...newerSymbols(path).map((symbol) => `${file} needs ${symbol}`),
    ...new Set([...elsewhere, ...outside].map(({ name }) => `${file} needs ${name}, and does not find it in the package`))
  ]
}

/** Whether the files are those that provenance.json tells of. */
export function provenanceFaults(folder) {
  const { files } = JSON.parse(readFileSync(join(folder, 'provenance.json'), 'utf8'))
  return Object.entries(files)
    .filter(([file, { bytes }]) => statSync(join(folder, file)).size !== bytes)
    .map(([file]) => `${file} is not what provenance.json tells of`)
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
}
