import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { dirname } from 'node:path'
import { ArbalestError, isError, messageOf, shown } from '../../errors.js'
import { unreadableFile, unwritableFile } from '../../formats/file-errors.js'
import { makeFolder, writeAll } from '../../formats/write-file.js'
import { isNetworkDenied, openFile } from '../../node.js'
import type { RemoteFile } from './sources.js'

/** How far the download of a file is. */
export interface DownloadProgress {
  readonly file: string
  readonly bytes: number
  readonly of: number
}

/** How files are fetched. */
export interface DownloadOptions {
  /** Called as bytes arrive. */
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined
  /** Ends the download with ABORTED; what has arrived stays, and the next call goes on there. */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds without a byte after which a mirror is given up; 30,000 if omitted. */
  readonly stall?: number | undefined
  /** Milliseconds before a broken connection is tried again; 1,000 if omitted. */
  readonly pause?: number | undefined
}

/** Broken connections to a mirror in a row, without a byte in between, after which the next mirror is tried. */
const TRIES = 3

/**
 * Fetches a file to `path` from the first of its mirrors that has it whole. What has come lies beside it as `path.part`, from where a later call goes on, with another mirror too. The file
 * has its name only when its SHA-256 is right. Throws DOWNLOAD_FAILED with what each mirror answered, WRITE_FAILED, ABORTED.
 */
export async function download(remote: RemoteFile, path: string, options: DownloadOptions = {}): Promise<void> {
  if (isNetworkDenied())
    throw new ArbalestError(
      'DOWNLOAD_FAILED',
      `${remote.name}: Node.js was told to allow no network; start it with --allow-net beside --permission`,
      { data: { file: remote.name } }
    )
  const part = partOf(path)
  try {
    makeFolder(dirname(path))
  } catch (cause) {
    throw unwritableFile(path, cause)
  }
  const failures: string[] = []
  for (const mirror of remote.mirrors) {
    const url = `${mirror}/${remote.name}`
    const failure = await fetchWhole(url, part, remote, options)
    if (failure === undefined) {
      await rename(part, path).catch((cause: unknown) => {
        throw unwritableFile(path, cause)
      })
      return
    }
    failures.push(`${url}: ${failure}`)
  }
  const fix = 'check the network, name another folder of the files with --mirror, or fetch the file yourself'
  throw new ArbalestError('DOWNLOAD_FAILED', `${remote.name}: no mirror has it (${failures.join('; ')}); ${fix}`, {
    data: { file: remote.name, mirrors: remote.mirrors, failures }
  })
}

/** Returns what is wrong with the mirror; undefined if the part is the whole file. */
async function fetchWhole(url: string, part: string, remote: RemoteFile, options: DownloadOptions): Promise<string | undefined> {
  const { signal, pause = 1000 } = options
  let failure = ''
  // A part of other bytes is thrown away once: it may be of another mirror.
  let isFresh = false
  for (let tries = 0; tries < TRIES; tries++) {
    const before = await lengthOf(part)
    try {
      if (before < remote.bytes) await fetchRest(url, part, before, remote, options)
      const sum = await sha256Of(part)
      if (sum === remote.sha256) return undefined
      failure = `its SHA-256 is ${sum}, expected ${remote.sha256}`
      await rm(part, { force: true })
      if (isFresh || before === 0) return failure
      isFresh = true
      tries = -1
      continue
    } catch (error) {
      if (signal?.aborted)
        throw new ArbalestError('ABORTED', `${remote.name}: the download was stopped; it goes on from its part`, { cause: error })
      if (error instanceof ArbalestError) throw error
      if (error instanceof Refused) return error.message
      failure = reasonOf(error)
    }
    const after = await lengthOf(part)
    if (after > before) tries = -1
    else if (tries < TRIES - 1) await sleep(pause)
  }
  return failure
}

/** The mirror's answer is no such file: to ask again helps nothing. */
class Refused extends Error {}

async function fetchRest(url: string, part: string, from: number, { bytes, name }: RemoteFile, options: DownloadOptions): Promise<void> {
  const { signal, stall = 30_000, onProgress } = options
  const stalled = new AbortController()
  let timer = setTimeout(() => stalled.abort(new Error(`no byte for ${stall} ms`)), stall)
  try {
    const response = await fetch(url, {
      headers: { 'accept-encoding': 'identity', ...(from > 0 && { range: `bytes=${from}-` }) },
      signal: signal ? AbortSignal.any([signal, stalled.signal]) : stalled.signal
    })
    const begin = beginOf(response, from)
    if (begin === undefined) {
      await response.body?.cancel()
      if (response.status === 416) await rm(part, { force: true })
      if (response.status >= 500 || response.status === 416 || response.status === 429) throw new Error(`it answers ${response.status}`)
      throw new Refused(`it answers ${response.status}`)
    }
    await using file = await openPart(part, begin)
    let at = begin
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      clearTimeout(timer)
      timer = setTimeout(() => stalled.abort(new Error(`no byte for ${stall} ms`)), stall)
      if (at + chunk.length > bytes) throw new Refused(`it sends more than the ${bytes} bytes of the file`)
      await writeAll(file, chunk).catch((cause: unknown) => {
        throw unwritableFile(part, cause)
      })
      at += chunk.length
      onProgress?.({ file: name, bytes: at, of: bytes })
    }
    if (at < bytes) throw new Error(`it ends after ${at} of ${bytes} bytes`)
  } finally {
    clearTimeout(timer)
  }
}

/** The first byte of an answer; undefined for one that is not the file. A server without ranges sends the file from its beginning. */
function beginOf({ status, headers }: Response, asked: number): number | undefined {
  if (status === 200) return 0
  if (status !== 206) return undefined
  const begin = Number(/^bytes (\d+)-/.exec(headers.get('content-range') ?? '')?.[1])
  return begin === asked ? begin : undefined
}

async function openPart(part: string, begin: number): Promise<FileHandle> {
  try {
    const file = await openFile(part, begin > 0 ? 'a' : 'w')
    return file
  } catch (cause) {
    throw unwritableFile(part, cause)
  }
}

/** Where what has come of a file lies. */
export function partOf(path: string): string {
  return `${path}.part`
}

/** In bytes; 0 if there is no such file. */
export async function lengthOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0
}

/** Throws DATA_NOT_FOUND. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 })) hash.update(chunk as Uint8Array)
  } catch (cause) {
    throw unreadableFile(path, cause)
  }
  return hash.digest('hex')
}

/** `fetch` wraps what the system said. */
function reasonOf(error: unknown): string {
  const { cause } = error as { readonly cause?: { readonly code?: unknown } }
  return typeof cause?.code === 'string' ? cause.code : isError(error) ? messageOf(error) : shown(error)
}
