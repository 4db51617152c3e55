import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import { parseStrictJson, plainJson } from '../formats/strict-json.js'
import { printable } from '../errors.js'

/** The process that holds a folder. */
export interface LockHolder {
  readonly pid: number
  readonly host: string
  /** When it took the folder, in ISO 8601. */
  readonly since: string
  /** What tells this process from all others that ever had its number; null where the system hides it. */
  readonly process: ProcessIdentity | null
}

interface ProcessIdentity {
  /** Of the running kernel. */
  readonly boot: string
  /** In which the number is meant: containers count their processes anew. */
  readonly namespace: string
  /** When the process started, in the kernel's ticks since it was booted. */
  readonly started: string
}

/** This process, as it takes a folder now. */
export function thisProcess(): LockHolder {
  return { pid: process.pid, host: hostname(), since: new Date().toISOString(), process: identityOf('self') }
}

/** What `thisProcess` gave, from a file that may be cut short or of another program: undefined then. */
export function holderIn(text: string): LockHolder | undefined {
  try {
    const { pid, host, since, process: identity } = plainJson(parseStrictJson(text, { depth: 4 })) as Partial<LockHolder>
    if (!Number.isSafeInteger(pid) || typeof host !== 'string' || typeof since !== 'string') return undefined
    return { pid: pid!, host, since, process: identity ?? null }
  } catch {
    return undefined
  }
}

/** As a message names it. */
export function nameOf(holder: LockHolder | undefined): string {
  if (!holder) return 'a process of unknown number'
  const { pid, host, since, process: identity } = holder
  const isThis = identity !== null && isThisProcess(holder)
  return printable(`process ${pid} on ${host}${isThis ? ', this one' : ''}, since ${since}`)
}

/** Whether it is this process, as far as the system tells processes apart. */
export function isThisProcess({ pid, process: identity }: LockHolder): boolean {
  return pid === process.pid && isDeepStrictEqual(identity, identityOf('self'))
}

/** Whether the process is known to have ended; false where that cannot be known from here, as of a process on another machine or in another container. */
export function hasEnded(holder: LockHolder | undefined): boolean {
  const [here, there] = [identityOf('self'), holder?.process]
  if (!holder || !here || !there || here.boot !== there.boot || here.namespace !== there.namespace) return false
  return identityOf(holder.pid)?.started !== there.started
}

function identityOf(pid: number | 'self'): ProcessIdentity | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The second field, the program's name in brackets, may hold anything.
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return started === undefined ? null : { boot, namespace: readlinkSync('/proc/self/ns/pid'), started }
  } catch {
    return null
  }
}
