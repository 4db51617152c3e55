import { spawnSync } from 'node:child_process'
import { gzipSync } from 'node:zlib'
import type { Choice } from './choice.js'
import { damaged } from './damage.js'

/** Unpacking each takes a process of its own. */
const XZ_SHARE = 0.02

/** The content of a file: plain, gzip or xz, damaged before or after compression, or not at all. */
export class PackedContent {
  readonly plain: Uint8Array
  readonly #gzip: Buffer
  readonly #xz: Buffer | undefined

  constructor(plain: Uint8Array) {
    this.plain = plain
    this.#gzip = gzipSync(plain)
    const { status, stdout } = spawnSync('xz', ['--stdout'], { input: plain })
    this.#xz = status === 0 ? stdout : undefined
  }

  some(choice: Choice): Uint8Array {
    if (choice.happens(0.05)) return this.plain
    if (choice.happens(0.5)) return damaged(this.plain, choice)
    if (this.#xz && choice.happens(XZ_SHARE)) return choice.happens(0.1) ? this.#xz : damaged(this.#xz, choice)
    return choice.happens(0.5) ? gzipSync(damaged(this.plain, choice), { level: 1 }) : damaged(this.#gzip, choice)
  }
}
