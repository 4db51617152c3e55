import { IMAGES, kindIn, type FileKind } from '../class-folders.js'

/** The files of a folder of texts. */
export const TEXT_FILES: FileKind = { what: 'texts', extensions: new Set(['.txt']) }

/** Whether a path is that of a folder of texts: one of images may have texts beside them, such as captions. */
export function holdsTexts(path: string): boolean {
  return kindIn(path, [IMAGES, TEXT_FILES]) === TEXT_FILES
}
