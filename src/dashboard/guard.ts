import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** Why a request is not served: the status of the answer. */
export type Refusal = 400 | 403 | 404 | 405

/** The longest address of a request. */
const LONGEST_URL = 512

/** The port of http, which clients leave out of an address. */
const HTTP_PORT = 80

/** What a client may call a server on this port of 127.0.0.1: its Host, and after `http://` the origin of its pages. */
export function hostsOf(port: number): readonly string[] {
  const names = ['127.0.0.1', 'localhost']
  return [...names.map((name) => `${name}:${port}`), ...(port === HTTP_PORT ? names : [])]
}

/**
 * Lets in only those who were given the address of the page: its first segment is a secret of 256 bits, so that the page's own addresses have it too. A request
 * must name this server as its Host (no other name can be made to point here), and must not come from a page of another origin.
 */
export class RequestGuard {
  readonly secret = randomBytes(32).toString('base64url')
  readonly #digest = digestOf(this.secret)

  /** What is asked for, as a path below the secret, undefined for the secret without the slash after it; or why it is refused. */
  check(
    { method, url = '', headers, rawHeaders, httpVersion }: IncomingMessage,
    port: number
  ): { readonly path: string | undefined } | { readonly refusal: Refusal } {
    const hosts = hostsOf(port)
    const { host = '', origin, 'sec-fetch-site': site } = headers
    if (url.length > LONGEST_URL || httpVersion !== '1.1' || hasBody(headers)) return { refusal: 400 }
    if (!hosts.includes(host) || countOf('host', rawHeaders) !== 1) return { refusal: 403 }
    if (origin !== undefined && !hosts.some((each) => origin === `http://${each}`)) return { refusal: 403 }
    if (site !== undefined && site !== 'same-origin' && site !== 'none') return { refusal: 403 }
    const [empty, given = '', ...rest] = url.split('/')
    if (empty !== '' || !timingSafeEqual(digestOf(given), this.#digest)) return { refusal: 403 }
    if (method !== 'GET') return { refusal: 405 }
    return { path: rest.length > 0 ? rest.join('/') : undefined }
  }
}

function hasBody(headers: IncomingMessage['headers']): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0' || headers.upgrade !== undefined
}

function countOf(name: string, rawHeaders: readonly string[]): number {
  return rawHeaders.filter((each, i) => i % 2 === 0 && each.toLowerCase() === name).length
}

/** Has the same length for every text: the comparison in constant time takes no others. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
