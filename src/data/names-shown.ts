import { shown } from '../errors.js'

/** Names that a message shows. */
const NAMES_SHOWN = 10

/** The first names of a list, for a message. */
export function namesShown(names: readonly string[]): string {
  return `${names.slice(0, NAMES_SHOWN).map(shown).join(', ')}${names.length > NAMES_SHOWN ? ', ...' : ''}`
}
