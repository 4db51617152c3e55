import { holds, type FileKind } from '../class-folders.js'

/** The files of a folder of texts. */
export const TEXT_FILES: FileKind = { what: 'texts', extensions: new Set(['.txt']) }

/** Whether a path is that of a folder of texts. */
export function holdsTexts(path: string): boolean {
  return holds(path, TEXT_FILES)
}
