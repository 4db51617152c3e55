import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { invalidOption } from '../errors.js'
import { isNetworkDenied } from '../node.js'
import { RequestGuard } from './guard.js'
import { pageFiles } from './page-files.js'
import type { Viewers } from './viewers.js'

/** Everything comes from this server; nothing is sent anywhere else, framed or guessed. */
const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY'
} as const

const MOST_CONNECTIONS = 64
/** Milliseconds that a client may take to send a request, and between two. */
const REQUEST_DEADLINE = 5_000
/** The same for reading an answer that is no stream. */
const ANSWER_DEADLINE = 15_000

export interface PageServerOptions {
  /** 0: any that is free. */
  readonly port: number
  readonly viewers: Viewers
  /** The first message of a stream: everything there is. */
  readonly first: () => string
}

/** Serves the page and its stream on 127.0.0.1, to those who know the secret. Keeps no process alive. */
export class PageServer {
  readonly #options: PageServerOptions
  readonly #server: Server
  readonly #guard = new RequestGuard()
  readonly #files = pageFiles()

  private constructor(options: PageServerOptions) {
    this.#options = options
    this.#server = hardened(createServer(LIMITS, (request, response) => this.#answer(request, response)))
  }

  /** Throws INVALID_OPTION if the port cannot be had. */
  static async open(options: PageServerOptions): Promise<PageServer> {
    const server = new PageServer(options)
    await listening(server.#server, options.port, 'dashboard.port')
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${portOf(this.#server)}/${this.#guard.secret}/`
  }

  close(): void {
    this.#server.close()
    // A stream ends once its reader has read all of it; one that is not read by then is cut off.
    setTimeout(() => this.#server.closeAllConnections(), 1_000).unref()
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const checked = this.#guard.check(request, portOf(this.#server))
    if ('refusal' in checked) return refuse(response, checked.refusal)
    // There the page would look for its files in the folder above.
    if (checked.path === undefined) return redirect(response, `/${this.#guard.secret}/`)
    if (checked.path === 'events') return this.#stream(response)
    const file = this.#files.get(checked.path)
    if (!file) return refuse(response, 404)
    response.writeHead(200, { ...HEADERS, 'Content-Type': file.type, 'Content-Length': file.body.length }).end(file.body)
  }

  #stream(response: ServerResponse): void {
    const { viewers, first } = this.#options
    response.setHeaders(new Headers({ ...HEADERS, 'Content-Type': 'text/event-stream; charset=utf-8' }))
    // A stream stays open for the whole run: the deadline for answers does not apply.
    response.socket?.setTimeout(0)
    if (!viewers.add(response, first())) {
      response.removeHeader('Content-Type')
      refuse(response, 503)
    }
  }
}

/** Limits of node:http. */
export const LIMITS = {
  maxHeaderSize: 8_192,
  headersTimeout: REQUEST_DEADLINE,
  requestTimeout: REQUEST_DEADLINE,
  keepAliveTimeout: REQUEST_DEADLINE,
  connectionsCheckingInterval: 1_000,
  insecureHTTPParser: false,
  requireHostHeader: true
} as const

/** Limits the server against clients that send too much, too slowly or nothing. */
export function hardened(server: Server): Server {
  server.maxConnections = MOST_CONNECTIONS
  server.maxHeadersCount = 50
  server.maxRequestsPerSocket = 1_000
  server.setTimeout(ANSWER_DEADLINE, (socket) => socket.destroy())
  server.on('clientError', (_error, socket) => socket.destroy())
  for (const event of ['upgrade', 'connect'] as const) server.on(event, (_request: IncomingMessage, socket) => void socket.destroy())
  for (const event of ['checkContinue', 'checkExpectation'] as const)
    server.on(event, (_request: IncomingMessage, response: ServerResponse) => refuse(response, 400))
  return server
}

/** Answers with a status alone, and takes no further request from there. */
export function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { ...HEADERS, Connection: 'close', 'Content-Length': 0 }).end()
}

function redirect(response: ServerResponse, path: string): void {
  response.writeHead(308, { ...HEADERS, Location: path, 'Content-Length': 0 }).end()
}

/** Resolves once the server listens on 127.0.0.1. Throws INVALID_OPTION if the port cannot be had, and if Node.js may not listen on any. */
export async function listening(server: Server, port: number, parameter: string): Promise<void> {
  // Node.js would throw in its event loop, where nothing catches it.
  if (isNetworkDenied())
    throw invalidOption(parameter, port, 'Node.js was told to allow no network: start it with --allow-net beside --permission')
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', resolve)
    })
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException
    throw invalidOption(parameter, port, `it cannot be listened on (${code}): use another port, or 0 for any that is free`)
  }
  server.on('error', () => {})
  server.unref()
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo | null)?.port ?? 0
}
