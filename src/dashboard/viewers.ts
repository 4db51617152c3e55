import type { ServerResponse } from 'node:http'

/** The most pages that watch at a time. */
export const MOST_VIEWERS = 16
/** Bytes that wait for a slow reader before it is dropped, beside its first message. It may connect again, and then gets everything anew. */
const MOST_WAITING = 2 ** 20
/** Milliseconds between two signs of life on a stream that has nothing to tell. */
const BEAT = 15_000

interface Viewer {
  readonly response: ServerResponse
  /** Bytes that may wait for it. */
  readonly most: number
}

/** The pages that watch, each over a stream of server-sent events. */
export class Viewers {
  readonly #viewers = new Set<Viewer>()
  #beats: NodeJS.Timeout | undefined

  get count(): number {
    return this.#viewers.size
  }

  /** Sends this message, and all later ones. False if there are too many pages already. */
  add(response: ServerResponse, first: string): boolean {
    if (this.#viewers.size >= MOST_VIEWERS) return false
    const viewer: Viewer = { response, most: MOST_WAITING + 2 * first.length }
    response.once('close', () => this.#remove(viewer))
    this.#viewers.add(viewer)
    this.#beats ??= setInterval(() => this.#write(': \n\n'), BEAT).unref()
    // A browser that has lost the stream asks again after so many milliseconds.
    response.write(`retry: 1000\n\ndata: ${first}\n\n`)
    return true
  }

  send(message: string): void {
    this.#write(`data: ${message}\n\n`)
  }

  close(): void {
    for (const { response } of this.#viewers) response.end()
  }

  #write(text: string): void {
    for (const viewer of this.#viewers) {
      if (viewer.response.writableLength > viewer.most) viewer.response.destroy()
      else viewer.response.write(text)
    }
  }

  #remove(viewer: Viewer): void {
    this.#viewers.delete(viewer)
    if (this.#viewers.size > 0) return
    clearInterval(this.#beats)
    this.#beats = undefined
  }
}
