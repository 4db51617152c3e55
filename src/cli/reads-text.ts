import { extname } from 'node:path'
import { textNames } from '../index.js'

/** Whether a name or a path of data is that of a text, whose next characters or tokens are learnt. */
export function readsText(data: string): boolean {
  return textNames.includes(data) || extname(data).toLowerCase() === '.txt'
}
