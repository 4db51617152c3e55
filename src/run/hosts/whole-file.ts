import { ArbalestError } from '../../errors.js'
import { unreadableFile } from '../../formats/file-errors.js'
import { openFile } from '../../node.js'

/** Bytes that are read at a time: the system reads fewer than 2 GiB, and so does `readFile`. */
const MOST_BYTES = 2 ** 28

/**
 * All bytes of a file, also of one of more than 2 GiB, such as the state of a learner with a large model. `most` is replaced in tests. Throws DATA_NOT_FOUND, and
 * INVALID_STATE for a file that others change.
 */
export async function wholeFile(path: string, most = MOST_BYTES): Promise<Uint8Array> {
  try {
    await using file = await openFile(path)
    const bytes = new Uint8Array((await file.stat()).size)
    for (let at = 0; at < bytes.length;) {
      const { bytesRead } = await file.read(bytes, at, Math.min(most, bytes.length - at), at)
      if (bytesRead === 0) throw new ArbalestError('INVALID_STATE', `${path}: it has become shorter while it was read`)
      at += bytesRead
    }
    return bytes
  } catch (error) {
    throw error instanceof ArbalestError ? error : unreadableFile(path, error)
  }
}
