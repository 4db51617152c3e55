// node scripts/npm-is-current.js FOLDER: exits 0 if FOLDER/node_modules has the versions of FOLDER/package-lock.json, otherwise 1.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Compares versions and not times: a fresh clone or a copied tree has new times. */
function isCurrent(folder) {
  const wanted = packagesOf(join(folder, 'package-lock.json'))
  const installed = packagesOf(join(folder, 'node_modules', '.package-lock.json'))
  if (!wanted || !installed) return false
  return Object.entries(wanted).every(([path, wish]) => {
    if (path === '' || wish.link) return true
    const found = installed[path]
    return found ? found.version === wish.version && found.integrity === wish.integrity : wish.optional === true
  })
}

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch {
    return undefined
  }
}

process.exitCode = isCurrent(process.argv[2] ?? '.') ? 0 : 1
