import { build, transform } from 'esbuild'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** A module that another one names by its address, for a thread or to load it later: `new URL('./learner.js', import.meta.url)`. */
const NAMED = /(?<!\bfrom |\bimport |\bimport\()'(\.\.?\/[\w./-]+\.js)'/g

/** Throws where it has no address. */
const REFUSING = 'package-version.js'

/** Modules that a browser loads. */
const PAGE = 'dashboard/page/'

/**
 * Joins the modules below `folder` into few files in `folder/bundled`, because Node.js takes most of its start to look for modules one by one. In the
 * places of the modules in `entries`, and of those that others name by their address, there are modules that export the same from there. Packages
 * stay outside. Returns the number of files.
 */
export async function bundleModules(folder, entries) {
  const modules = readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith('.js') && !file.startsWith(PAGE))
    .map((file) => join(folder, file))
  const kept = new Set([
    ...entries.map((entry) => join(folder, entry)),
    ...modules.flatMap(namedIn).filter((file) => modules.includes(file))
  ])
  const { metafile, outputFiles } = await build({
    entryPoints: Object.fromEntries([...kept].map((module) => [nameOf(module, folder), module])),
    outdir: join(folder, 'bundled'),
    chunkNames: 'shared-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    // Names of classes and functions are in messages.
    keepNames: true,
    plugins: [keepAddresses(folder)],
    logLevel: 'warning',
    absWorkingDir: folder,
    metafile: true,
    write: false
  })

  for (const module of modules) rmSync(module)
  mkdirSync(join(folder, 'bundled'))
  for (const { path, contents } of outputFiles) writeFileSync(path, contents)
  for (const [path, { entryPoint, exports }] of Object.entries(metafile.outputs)) {
    if (entryPoint === undefined) continue
    const module = join(folder, entryPoint)
    const from = JSON.stringify(`./${relative(dirname(entryPoint), path)}`)
    writeFileSync(module, exports.length === 0 ? `import ${from}\n` : `export { ${exports.join(', ')} } from ${from}\n`)
  }
  return outputFiles.length + kept.size
}

function namedIn(module) {
  return [...readFileSync(module, 'utf8').matchAll(NAMED)].map(([, path]) => join(dirname(module), path))
}

/** `actors/learner.js` becomes `actors.learner`. */
function nameOf(module, folder) {
  return relative(folder, module).replace(/\.js$/, '').replaceAll('/', '.')
}

/** A module's own address stays what it was, though its text goes into `bundled`. The compiler tells the address from a text that mentions it. */
function keepAddresses(folder) {
  return {
    name: 'keep-addresses',
    setup({ onLoad }) {
      onLoad({ filter: /\.js$/ }, async ({ path }) => {
        const text = readFileSync(path, 'utf8')
        if (!text.includes('import.meta.url')) return { contents: text }
        const { code } = await transform(text, { define: { 'import.meta.url': 'ownAddress' }, target: 'esnext' })
        const address = `new URL(${JSON.stringify(`../${relative(folder, path)}`)}, import.meta.url).href`
        // Somebody else's bundle in CommonJS has no addresses. Files keep no other order than that of what they take from each other: this takes first
        // from the module that refuses such a bundle.
        if (relative(folder, path) === REFUSING) return { contents: `const ownAddress = import.meta.url && ${address}\n${code}` }
        const refusal = `import { refuseBundle as refuse } from ${JSON.stringify(join(folder, REFUSING))}`
        return { contents: `${refusal}\nconst ownAddress = import.meta.url ? ${address} : refuse()\n${code}` }
      })
    }
  }
}
