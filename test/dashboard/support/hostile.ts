import { Random } from './random.js'
import { exchange } from './client.js'

const OTHER_SECRET = 'A'.repeat(43)

/** A request that must not be served, made of a good one by something that is wrong with it. */
type Fault = (request: Parts, random: Random) => void

interface Parts {
  method: string
  path: string
  headers: string[]
  host: string
  version: string
}

const FAULTS: Readonly<Record<string, Fault>> = {
  'another secret': (request) => (request.path = request.path.replace(/^\/[^/]+/, `/${OTHER_SECRET}`)),
  'no secret': (request) => (request.path = request.path.replace(/^\/[^/]+/, '')),
  'a part of the secret': (request, random) =>
    (request.path = request.path.replace(/^\/([^/]+)/, (_, all: string) => `/${all.slice(0, random.below(all.length))}`)),
  'another case': (request) =>
    (request.path = request.path.replace(/[a-z]/, (letter) => letter.toUpperCase()).replace(/^\/[^/]+/, (all) => `${all}x`)),
  'another host': (request, random) =>
    (request.host = random.of([
      'evil.example',
      '127.0.0.1',
      '127.0.0.1:1',
      '[::1]:80',
      'localhost.evil.example',
      '',
      '0.0.0.0:80',
      '127.0.0.1.nip.io'
    ])),
  'two hosts': (request) => request.headers.push('Host: evil.example'),
  'another origin': (request, random) =>
    request.headers.push(`Origin: ${random.of(['https://evil.example', 'null', 'http://127.0.0.1', 'http://127.0.0.1:1', 'file://', ''])}`),
  'another site': (request, random) => request.headers.push(`Sec-Fetch-Site: ${random.of(['cross-site', 'same-site', 'x'])}`),
  'another method': (request, random) =>
    (request.method = random.of(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD', 'TRACE', 'CONNECT', 'PROPFIND', 'get', 'X'])),
  'a path that is none': (request, random) =>
    (request.path += random.of([
      'x',
      '../',
      '..%2f..%2fetc/passwd',
      '%00',
      'events/',
      'wire.d.ts',
      'main.js.map',
      'tsconfig.tsbuildinfo',
      '?x=1',
      '/',
      'index.html',
      '\\..\\',
      '__proto__',
      'constructor',
      'metrics'
    ])),
  'a path that leaves': (request, random) =>
    (request.path = random.of(['/../../etc/passwd', '//etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', 'http://evil.example/', '*', '/\u0001'])),
  'a body': (request) => request.headers.push('Content-Length: 5'),
  'an upgrade': (request) =>
    request.headers.push(
      'Upgrade: websocket',
      'Connection: Upgrade',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Version: 13'
    ),
  'a huge header': (request, random) => request.headers.push(`X: ${'x'.repeat(8_200 + random.below(50_000))}`),
  'many headers': (request) => request.headers.push(...Array.from({ length: 2_000 }, (_, i) => `X${i}: 1`)),
  'a huge path': (request, random) => (request.path += 'a'.repeat(600 + random.below(6_000))),
  'a broken header': (request, random) =>
    request.headers.push(
      random.of([
        'X',
        ': x',
        'X\u0000: 1',
        'X : 1',
        'Transfer-Encoding: chunked, chunked',
        'Content-Length: -1',
        'Content-Length: 1\r\nContent-Length: 2'
      ])
    ),
  'an expectation': (request, random) => request.headers.push(`Expect: ${random.of(['100-continue', '42'])}`),
  'another protocol': (request, random) => (request.version = random.of(['HTTP/2.0', 'HTTP/9.9', 'FTP/1.1', '', 'HTTP/1.1 x']))
}

export interface HostileOutcome {
  /** Requests by what was wrong with them. */
  readonly sent: Readonly<Record<string, number>>
  /** Answers by status; `none` where the connection was closed. */
  readonly answers: Readonly<Record<string, number>>
  /** What was served although it should not have been. */
  readonly served: readonly string[]
}

/** Sends so many requests that must not be served, some at a time, to the page at this address. The same seed sends the same ones. */
export async function sendHostile(
  url: string,
  { requests, seed, atOnce = 16 }: { requests: number; seed: number; atOnce?: number }
): Promise<HostileOutcome> {
  const random = new Random(seed)
  const { port, host, pathname } = new URL(url)
  const sent: Record<string, number> = {}
  const answers: Record<string, number> = {}
  const served: string[] = []
  let left = requests
  const sendAll = async () => {
    while (left-- > 0) {
      const name = random.of(Object.keys(FAULTS))
      const request: Parts = {
        method: 'GET',
        path: `${pathname}${random.of(['', 'events', 'main.js', 'page.css'])}`,
        headers: [],
        host,
        version: 'HTTP/1.1'
      }
      FAULTS[name]!(request, random)
      const { method, path, version, headers } = request
      const text = [`${method} ${path} ${version}`, `Host: ${request.host}`, ...headers, '', ''].join('\r\n')
      // A slow one: the head does not come to its end.
      const isSlow = random.below(50) === 0
      const answer = await exchange(Number(port), isSlow ? text.slice(0, -2) : text, { patience: isSlow ? 50 : 4_000 })
      const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 'none'
      sent[name] = (sent[name] ?? 0) + 1
      answers[status] = (answers[status] ?? 0) + 1
      if (status.startsWith('2') || status.startsWith('1') || /\r\n\r\n./s.test(answer))
        served.push(`${name}: ${text.slice(0, 200)} -> ${answer.slice(0, 100)}`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, sendAll))
  return { sent, answers, served }
}

export const HOSTILE_KINDS = Object.keys(FAULTS)
