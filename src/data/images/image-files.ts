import { check } from '../../schema/faults.js'
import { text } from '../../schema/values.js'
import { filesBelow, filesOf, type FileShare, type FileSplit } from '../class-folders.js'
import { IMAGES } from '../file-kinds.js'

/** Training images and test images, as `filesOf` finds them. */
export function splitImages(path: string, share: FileShare): Promise<FileSplit> {
  return filesOf(path, IMAGES, share)
}

/** What `imagesIn` gives. */
export async function imagesBelow(folder: string): Promise<readonly string[]> {
  check(text('the path of a folder of images'), folder, { path: 'folder' })
  return filesBelow(folder, IMAGES)
}
