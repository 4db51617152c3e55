import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { PREBUILT } from '../prebuilt.js'
import { run } from './run.js'
import { foreignLibraries, SYSTEM_VERSIONS } from './symbols.js'

/** What the build leaves for users. Those of MPI and CUDA are compiled with what the user's machine has. */
const OWN = /^(?:arbalest\.node|libarbalest-cpu\.so|libarbalest-kernels-\w+\.so)$/

/**
 * Makes the package of the prebuilt engine in `folder`: the addon with the kernels of every instruction set, and the libraries of other projects that
 * they are linked with, so that nothing of them has to be on the user's machine. `root` is a checkout whose engine is built.
 */
export function makeEnginePackage(folder, { root, manifest, commit }) {
  const release = join(root, 'native', 'build', 'Release')
  const stamp = JSON.parse(readFileSync(join(root, 'native', 'build', 'stamp.json'), 'utf8'))
  mkdirSync(join(folder, 'licenses'), { recursive: true })

  const own = readdirSync(release).filter((file) => OWN.test(file))
  for (const file of own) copyFileSync(join(release, file), join(folder, file))
  const foreign = new Map(own.flatMap((file) => foreignLibraries(join(release, file))).map(({ name, path }) => [name, path]))
  for (const [name, path] of foreign) {
    if (path === undefined) throw new Error(`${name} is not found; build the engine again`)
    copyFileSync(path, join(folder, name))
    copyFileSync(licenceOf(path), join(folder, 'licenses', `${name}.txt`))
  }
  for (const file of [...own, ...foreign.keys()]) {
    const place = join(folder, file)
    chmodSync(place, 0o755)
    run('strip', ['--strip-unneeded', place])
    // They find each other by their own folder.
    run('patchelf', ['--set-rpath', '$ORIGIN', place])
  }

  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  write(folder, 'provenance.json', {
    version: manifest.version,
    commit,
    sources: stamp.inputs,
    toolchain: stamp.toolchain.split(' | ').slice(-3),
    needs: SYSTEM_VERSIONS,
    files: Object.fromEntries([...own, ...foreign.keys()].map((file) => [file, describe(join(folder, file))]))
  })
  write(folder, 'package.json', {
    name: PREBUILT,
    version: manifest.version,
    description: `The native engine of arbalest for ${process.platform} on ${process.arch}.`,
    license: manifest.license,
    os: [process.platform],
    cpu: [process.arch],
    libc: ['glibc'],
    preferUnplugged: true
  })
  writeFileSync(join(folder, 'README.md'), readme([...foreign.keys()]))
}

/** The file with the licence of the Debian package that a library is of. */
function licenceOf(path) {
  const [owner] = run('dpkg', ['--search', `*/${basename(realpathSync(path))}`]).split(':')
  return `/usr/share/doc/${owner}/copyright`
}

function describe(file) {
  return { bytes: statSync(file).size, sha256: createHash('sha256').update(readFileSync(file)).digest('hex') }
}

function write(folder, name, content) {
  writeFileSync(join(folder, name), `${JSON.stringify(content, null, 2)}\n`)
}

function readme(libraries) {
  return `# ${PREBUILT}

The native engine of [arbalest](https://www.npmjs.com/package/arbalest), already built. npm installs it with arbalest where it fits the machine; nothing is to be called here.

provenance.json says from which sources and with which tools it was made. Of other projects, with their licences in licenses/: ${libraries.join(', ')}.
`
}
