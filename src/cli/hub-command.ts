import { hub } from '../index.js'
import type { DefineCommand } from './command.js'
import { EXIT } from './exit.js'
import { StopOnSignal } from './stop-on-signal.js'

const NOTES = `
Examples:
  arbalest launch -n 4 --hubs 1 -- train --model resnet20       four processes train, a fifth one is their hub
  mpirun -n 4 arbalest train --model resnet20 : -n 1 arbalest hub

It takes no options: the first process that trains tells it what to serve. It needs neither the
data nor the model, and writes nothing.`

export const defineHub: DefineCommand = (command, { finish }) => {
  command.addHelpText('after', NOTES).action(async () => {
    const stop = new AbortController()
    using signals = new StopOnSignal(() => stop.abort())
    await hub({ signal: stop.signal })
    finish(signals.exitCode ?? EXIT.done)
  })
}
