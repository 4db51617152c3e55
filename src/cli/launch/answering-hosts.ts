import { spawn } from 'node:child_process'
import type { Host } from '../../hosts/hostfile.js'

/** A host that starts no process within this time is lost. */
const ANSWER_MS = 8_000

/** The hosts on which the launcher still starts a process, in their order. `lineFor` is the command line that starts `true` on one host. */
export async function answeringHosts(
  hosts: readonly Host[],
  lineFor: (host: Host) => readonly string[],
  env: NodeJS.ProcessEnv
): Promise<readonly Host[]> {
  const answers = await Promise.all(hosts.map((host) => succeeds(lineFor(host), env)))
  return hosts.filter((_, i) => answers[i])
}

function succeeds([program, ...words]: readonly string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  return new Promise((resolve) => {
    // A working folder that was removed is an error here: the launcher starts nothing there, on any host.
    const child = spawn(program!, words, { cwd: process.cwd(), env, stdio: 'ignore', timeout: ANSWER_MS, killSignal: 'SIGKILL' })
    child.once('error', () => resolve(false))
    child.once('close', (status) => resolve(status === 0))
  })
}
