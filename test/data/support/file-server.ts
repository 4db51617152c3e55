import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** How a server answers a request; `from` is the first byte that is asked for. */
export type Answer = (response: ServerResponse, request: { readonly from: number; readonly count: number }) => void

/** A file server of a test, which answers as it is told. */
export class FileServer implements AsyncDisposable {
  readonly #server = createServer((request, response) => this.#answer(request, response))
  readonly #answers: Readonly<Record<string, Answer>>
  /** The first byte of each request. */
  readonly asked: number[] = []

  private constructor(answers: Readonly<Record<string, Answer>>) {
    this.#answers = answers
  }

  static async with(answers: Readonly<Record<string, Answer>>): Promise<FileServer> {
    const server = new FileServer(answers)
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  #answer({ url = '', headers }: IncomingMessage, response: ServerResponse): void {
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0)
    const answer = this.#answers[url.slice(1)]
    if (!answer) {
      response.writeHead(404).end()
      return
    }
    this.asked.push(from)
    answer(response, { from, count: this.asked.length })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** The bytes from the first one that is asked for. */
export function sending(bytes: Uint8Array): Answer {
  return (response, { from }) => {
    if (from > 0) response.writeHead(206, { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` })
    response.end(bytes.subarray(from))
  }
}

/** A server that takes a second or so for a file. */
export function sendingSlowly(bytes: Uint8Array): Answer {
  return (response, { from }) => {
    const rest = bytes.subarray(from)
    if (from > 0) response.writeHead(206, { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` })
    const step = Math.ceil(rest.length / 20)
    const send = (at: number): void => {
      response.write(rest.subarray(at, at + step))
      if (at + step < rest.length) setTimeout(send, 50, at + step)
      else response.end()
    }
    send(0)
  }
}

/** A server that breaks the connection off after some bytes of each answer. */
export function dropping(bytes: Uint8Array, after: number): Answer {
  return (response, { from }) => {
    const rest = bytes.subarray(from)
    if (rest.length <= after) return sending(bytes)(response, { from, count: 0 })
    response.writeHead(from > 0 ? 206 : 200, {
      'content-length': rest.length,
      ...(from > 0 && { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` })
    })
    response.write(rest.subarray(0, after), () => setTimeout(() => response.destroy(), 10))
  }
}

/** A server without ranges: the whole file, whatever is asked for. */
export function ignoringRanges(bytes: Uint8Array): Answer {
  return (response) => void response.end(bytes)
}
