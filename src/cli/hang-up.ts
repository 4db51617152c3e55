import { closeSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { isatty } from 'node:tty'

/** What Node's caller has told of the signals that were ignored when it started. */
interface Beginnings {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where the kernel describes this process. */
  readonly proc: string
}

const HERE: Beginnings = { env: process.env, proc: '/proc/self' }

/** As a bit of the kernel's masks. */
const SIGHUP = 1n

/**
 * Keeps SIGHUP ignored if it was when the process started: Node sets it back to its default, by which a run under `nohup` would end with its terminal.
 */
export function keepHangUpIgnored(beginnings = HERE): void {
  if (isHangUpIgnored(beginnings)) process.on('SIGHUP', () => {})
}

/**
 * Lets the process end with its exit code where its terminal has been closed. At its end Node restores the modes of the terminals that it has been started with, and
 * aborts with SIGABRT if one of them is gone, unless that is closed here, too.
 */
export function leaveClosedTerminal(): void {
  const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor))
  process.once('exit', () => {
    for (const descriptor of terminals) if (!isatty(descriptor)) closeSync(descriptor)
  })
}

/**
 * Whether SIGHUP was ignored when the process started. `bin/arbalest.js` passes the kernel's mask on. Under `nohup npx` the mask is lost, as npx is a
 * program of Node too, but nohup leaves two traces: its name in `_`, and at a terminal a stdin that can only be written.
 */
export function isHangUpIgnored({ env, proc }: Beginnings = HERE): boolean {
  return ignores(env['ARBALEST_IGNORED_SIGNALS']) || basename(env['_'] ?? '') === 'nohup' || isStdinOfNohup(proc)
}

function ignores(mask: string | undefined): boolean {
  return /^[0-9a-f]+$/.test(mask ?? '') && (BigInt(`0x${mask}`) & SIGHUP) !== 0n
}

function isStdinOfNohup(proc: string): boolean {
  try {
    const access = /^flags:\s*[0-7]*([0-7])$/m.exec(readFileSync(`${proc}/fdinfo/0`, 'utf8'))?.[1]
    return readlinkSync(`${proc}/fd/0`) === '/dev/null' && (Number(access) & 3) === 1
  } catch {
    // A system that hides /proc, or a process without stdin.
    return false
  }
}
