import { hub, type ServedEvent } from '../index.js'
import type { CommonFlags, DefineCommand } from './command.js'
import { EXIT } from './exit.js'
import { StopOnSignal } from './stop-on-signal.js'
import { external } from './text.js'

const NOTES = `
Examples:
  arbalest launch -n 4 --hubs 1 -- train --model resnet20       four processes train, a fifth one is their hub
  arbalest launch -n 2 --hubs 1 -- train a.ts : train b.ts      two jobs of two processes share a fifth one
  mpirun -n 4 arbalest train --model resnet20 : -n 1 arbalest hub

It takes no options: the first process that trains tells it what to serve. It needs neither the
data nor the model. The hub of several jobs writes a line when one of them has ended.`

export const defineHub: DefineCommand = (command, { output, finish }) => {
  command.addHelpText('after', NOTES).action(async ({ json = false }: CommonFlags) => {
    const stop = new AbortController()
    using signals = new StopOnSignal(() => stop.abort())
    // The jobs that it serves need it, whether or not somebody reads what it tells of them.
    output.continueAfterLoss(() => {})
    const tell = (served: ServedEvent) => {
      if (!output.isLost) process.stdout.write(`${json ? JSON.stringify(served) : shown(served)}\n`)
    }
    await hub({ signal: stop.signal, onServed: tell })
    finish(signals.exitCode ?? EXIT.done)
  })
}

function shown({ job, refused: { nonces, lengths, keys }, failed }: ServedEvent): string {
  const end = failed ? `${failed.code}: ${external(failed.message)}` : 'served to its end'
  return `hub: job ${job}: ${end}; refused ${nonces + lengths + keys} messages (nonces ${nonces}, lengths ${lengths}, keys ${keys})`
}
