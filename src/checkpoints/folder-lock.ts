import { createHash } from 'node:crypto'
import { realpath } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { ArbalestError } from '../errors.js'

/**
 * A folder that one process at a time writes into. The lock is a name in Linux's abstract socket namespace: it goes with the process, however
 * that ends, and leaves nothing to clean. It is seen by all processes of a machine that share a network namespace, and by no others.
 */
export class FolderLock implements AsyncDisposable {
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  /** Throws INVALID_STATE where another run holds it. */
  static async take(folder: string): Promise<FolderLock> {
    const name = createHash('sha256')
      .update(await realpath(folder))
      .digest('hex')
    const server = createServer((visitor) => visitor.destroy())
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(`\0arbalest-folder-${name}`, resolve)
      })
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw cause
      const message = `checkpoint.dir: received ${folder}; another run writes into it: stop that one, or name another folder`
      throw new ArbalestError('INVALID_STATE', message, { cause, data: { folder } })
    }
    server.unref()
    return new FolderLock(server)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}
