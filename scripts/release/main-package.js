import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PREBUILT } from '../prebuilt.js'
import { bundleModules } from './bundle.js'
import { run } from './run.js'

/**
 * Makes the package `arbalest` in `folder`: what `npm pack` would take from the checkout, with its modules bundled, and with the package of the prebuilt
 * engine among its optional dependencies. A checkout does not have that dependency, because its engine is of its own sources.
 */
export async function makeMainPackage(folder, { root, manifest }) {
  mkdirSync(folder, { recursive: true })
  const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root }))
  run('tar', ['--extract', '--strip-components=1', '--file', join(folder, filename)], { cwd: folder })
  run('rm', [join(folder, filename)])

  const { devDependencies: _, scripts, ...kept } = manifest
  const published = { ...kept, scripts: { install: scripts.install }, optionalDependencies: { [PREBUILT]: manifest.version } }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(published, null, 2)}\n`)
  await bundleModules(join(folder, 'dist', 'src'), entriesOf(manifest, readFileSync(join(root, 'bin', 'arbalest.js'), 'utf8')))
}

/** The modules that the package's exports and its program name. */
function entriesOf({ exports }, program) {
  const exported = Object.values(exports).map((entry) => entry.default ?? entry)
  const started = [...program.matchAll(/\.\.\/(dist\/src\/[\w./-]+\.js)/g)].map(([, path]) => `./${path}`)
  return [...exported, ...started].filter((path) => path.startsWith('./dist/src/')).map((path) => path.slice('./dist/src/'.length))
}
