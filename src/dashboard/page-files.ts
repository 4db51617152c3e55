import { readFileSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface PageFile {
  readonly type: string
  readonly body: Buffer
}

const SOURCES = new URL('../../../src/dashboard/page/', import.meta.url)
const COMPILED = new URL('./page/', import.meta.url)

/** All files of the page by their paths, read once: no path of a request ever names a file. */
export function pageFiles(): ReadonlyMap<string, PageFile> {
  const charts = join(dirname(createRequire(import.meta.url).resolve('uplot')), '..', 'dist')
  const scripts = readdirSync(COMPILED).filter((name) => name.endsWith('.js'))
  const script = (path: string | URL): PageFile => ({ type: 'text/javascript; charset=utf-8', body: withoutMap(readFileSync(path)) })
  const style = (path: string | URL): PageFile => ({ type: 'text/css; charset=utf-8', body: readFileSync(path) })
  return new Map<string, PageFile>([
    ['', { type: 'text/html; charset=utf-8', body: readFileSync(new URL('index.html', SOURCES)) }],
    ['page.css', style(new URL('page.css', SOURCES))],
    ['uplot.css', style(join(charts, 'uPlot.min.css'))],
    ['uplot.js', script(join(charts, 'uPlot.esm.js'))],
    ['icon.svg', { type: 'image/svg+xml', body: readFileSync(new URL('icon.svg', SOURCES)) }],
    ...scripts.map((name): [string, PageFile] => [name, script(fileURLToPath(new URL(name, COMPILED)))])
  ])
}

/** The maps are not served. */
function withoutMap(script: Buffer): Buffer {
  return Buffer.from(script.toString('utf8').replace(/^\/\/# sourceMappingURL=.*$/m, ''))
}
