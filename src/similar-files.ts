import { existsSync, opendirSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { similarNames } from './did-you-mean.js'

/** Names of a folder that are compared. */
const MOST_NAMES = 10_000

/** Suggestions; more would not help. */
const MOST_SUGGESTED = 3

/** The question at the end of the fix for a path that does not exist: an empty text if no path is similar. `printable` makes the names of files fit for a message. */
export function didYouMeanFile(path: string, printable: (text: string) => string): string {
  const found = similarFiles(path)
  return found.length > 0 && found.length <= MOST_SUGGESTED ? `; did you mean ${found.map(printable).join(' or ')}?` : ''
}

/** Paths that exist and resemble one that does not, in its name or in those of its folders. */
function similarFiles(path: string): string[] {
  const [folder, name] = [dirname(path), basename(path)]
  if (!isThere(folder)) {
    if (folder === path) return []
    return similarFiles(folder).flatMap((other) => (isThere(join(other, name)) ? [join(other, name)] : []))
  }
  const names = namesIn(folder)
  const similar = similarNames(name, names)
  const withEnding = extname(name) === '' ? names.filter((each) => each !== name && each.slice(0, -extname(each).length) === name) : []
  return (similar.length > 0 ? similar : withEnding).map((each) => join(folder, each))
}

/** Under --permission Node.js may throw for a path at which it may not look. */
function isThere(path: string): boolean {
  try {
    return existsSync(path)
  } catch {
    return false
  }
}

function namesIn(folder: string): string[] {
  const names: string[] = []
  try {
    const entries = opendirSync(folder)
    try {
      for (let entry = entries.readSync(); entry && names.length < MOST_NAMES; entry = entries.readSync()) names.push(entry.name)
    } finally {
      entries.closeSync()
    }
  } catch {
    // A folder that cannot be read has no suggestions.
  }
  return names.sort()
}
