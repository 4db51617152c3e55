import { allocate, corrupt } from './faults.js'
import { type Unpacked, unpack } from './unpack.js'

/** Reads a file, plain or packed, from its start to its end, and never takes more memory than the file can fill. */
export class ByteReader {
  readonly file: string
  readonly #content: Unpacked
  #chunk: Uint8Array = new Uint8Array(0)
  #taken = 0

  private constructor(file: string, content: Unpacked) {
    this.file = file
    this.#content = content
  }

  /** Runs `read` on the open file, which must take all of its content: bytes left over are DATA_CORRUPT. Closes the file in any case. */
  static async whole<T>(file: string, read: (reader: ByteReader) => Promise<T>): Promise<T> {
    const content = await unpack(file)
    try {
      const reader = new ByteReader(file, content)
      const result = await read(reader)
      await reader.#expectEnd()
      return result
    } finally {
      await content.chunks.return()
    }
  }

  /** The next `count` bytes; `what` says in an error what they should have been. Throws DATA_CORRUPT where the file is shorter. */
  async take(count: number, what: string): Promise<Uint8Array> {
    // Before memory is taken for it: a forged header must cost nothing.
    if (count > this.#content.bound - this.#taken) throw this.#truncated(count, what, `at most ${this.#content.bound - this.#taken}`)
    const bytes = allocate(count, this.file)
    let filled = 0
    while (filled < count) {
      if (this.#chunk.length === 0 && !(await this.#advance())) throw this.#truncated(count, what, `${filled}`)
      const part = this.#chunk.subarray(0, count - filled)
      bytes.set(part, filled)
      filled += part.length
      this.#chunk = this.#chunk.subarray(part.length)
    }
    this.#taken += count
    return bytes
  }

  async #expectEnd(): Promise<void> {
    if (this.#chunk.length > 0 || (await this.#advance())) throw corrupt(this.file, `its end after ${this.#taken} bytes`, 'more')
  }

  async #advance(): Promise<boolean> {
    const next = await this.#content.chunks.next()
    if (next.done) return false
    this.#chunk = next.value
    return true
  }

  #truncated(count: number, what: string, found: string): Error {
    return corrupt(this.file, `${count} bytes of ${what} from byte ${this.#taken} on`, found)
  }
}
