import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import * as v from 'valibot'
import { messageOf, printable } from '../errors.js'
import { foundAt, isDeniedByNode } from '../formats/file-errors.js'
import { kind, type Schema } from '../schema/values.js'

/** The URL of a module that exists, from a URL or the path of its file; `exports` names what the module has to export. */
export function moduleUrl(exports: string): Schema<URL | string, URL> {
  return v.pipe(
    kind<URL | string>(
      (value) => value instanceof URL || (typeof value === 'string' && value !== ''),
      'the URL of a module, or the path of its file'
    ),
    v.rawTransform(({ dataset: { value }, addIssue, NEVER }) => {
      try {
        const url = value instanceof URL ? value : /^(file|data):/.test(value) ? new URL(value) : pathToFileURL(resolve(value))
        if (url.protocol !== 'file:') return url
        const path = fileURLToPath(url)
        if (foundAt(path)?.isFile() === true) return url
        addIssue({ message: `there is no file ${printable(path)}: name a module that exports ${exports}` })
      } catch (error) {
        if (isDeniedByNode((error as Error).cause)) addIssue({ message: 'it may not be read: start Node.js with --allow-fs-read for it' })
        else addIssue({ message: `that is no address (${messageOf(error)}): name a module that exports ${exports}` })
      }
      return NEVER
    })
  )
}
