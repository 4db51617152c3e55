import { setTimeout as sleep } from 'node:timers/promises'
import { Dashboard } from '../dashboard/dashboard.js'
import { LogFollower } from '../dashboard/log-follower.js'
import { check } from '../schema/faults.js'
import { port } from '../schema/values.js'
import { withFlagsOf } from './as-typed.js'
import type { CommonFlags, DefineCommand } from './command.js'
import { wholeNumber } from './flag-values.js'
import { tellDashboard } from './tell-dashboard.js'

const NOTES = `
LOG is a log (train --log) or a folder of logs (train --log-dir). Runs that still write are followed. The page is on 127.0.0.1 alone, and its address
has a secret. Ctrl-C ends it. What learners do and how far they are from the central model is seen by train --dashboard alone: no log has it.`

export const defineDashboard: DefineCommand = (command) => {
  command
    .argument('<log>', 'a log, or a folder of logs')
    .option('--port <port>', 'the port of the page (default: any that is free)', wholeNumber('--port'))
    .addHelpText('after', NOTES)
    .action(async (log: string, { json = false, port: given }: CommonFlags & { port?: number }) => {
      const dashboard = await withFlagsOf(command, openPage(log, given), { 'dashboard.port': 'port' })
      tellDashboard(dashboard.url, json)
      // The server keeps no process alive. There is nothing to be put in order at the end: a signal may do as it does.
      for (;;) await sleep(60_000)
    })
}

/** Throws INVALID_OPTION if the port cannot be had, and DATA_NOT_FOUND. */
async function openPage(log: string, given: number | undefined): Promise<Dashboard> {
  const options = given === undefined ? {} : { port: check(port(), given, { path: 'dashboard.port' }) }
  return Dashboard.open(await LogFollower.open(log), options)
}
