import { get, type ClientRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'

/** Sends bytes as they are, and resolves with what comes until the connection ends, or for so many milliseconds. */
export function exchange(port: number, bytes: string | Buffer, { patience = 4_000 } = {}): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    const end = () => {
      clearTimeout(timer)
      socket.destroy()
      resolve(text)
    }
    const timer = setTimeout(end, patience)
    socket.on('data', (data) => (text += data.toString('latin1')))
    socket.on('error', end).on('close', end)
    socket.write(bytes)
  })
}

/** A stream of server-sent events that is read by hand. */
export class Stream {
  readonly #request: ClientRequest
  #response: IncomingMessage | undefined
  readonly #messages: string[] = []
  #parts: string[] = []
  #closed = false
  #wake = () => {}

  constructor(url: string) {
    this.#request = get(new URL('events', url), { agent: false }, (response) => {
      this.#response = response
      response.setEncoding('utf8').on('data', (text: string) => this.#take(text))
      response.on('error', () => {}).on('close', () => this.#end())
    })
    this.#request.on('error', () => this.#end())
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** Reads no further. */
  pause(): void {
    this.#response!.pause()
  }

  close(): void {
    this.#request.destroy()
  }

  /** The next message; undefined once the stream has ended. */
  async next(): Promise<Record<string, unknown> | undefined> {
    while (this.#messages.length === 0 && !this.#closed) await new Promise<void>((resolve) => (this.#wake = resolve))
    const message = this.#messages.shift()
    return message === undefined ? undefined : (JSON.parse(message) as Record<string, unknown>)
  }

  #take(text: string): void {
    this.#parts.push(text)
    if (!text.endsWith('\n\n')) return
    const events = this.#parts.join('').split('\n\n')
    this.#parts = []
    for (const event of events) if (event.startsWith('data: ')) this.#messages.push(event.slice('data: '.length))
    this.#wake()
  }

  #end(): void {
    this.#closed = true
    this.#wake()
  }
}
