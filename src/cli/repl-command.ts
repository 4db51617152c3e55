import { start, type REPLServer } from 'node:repl'
import { codeOf, messageOf } from '../errors.js'
import * as arbalest from '../index.js'
import { train, type Job } from '../index.js'
import { deferred } from '../runtime/promises.js'
import { asTyped } from './as-typed.js'
import type { DefineCommand } from './command.js'
import { chosenConfig } from './config-file.js'
import { EXIT, type ExitCode } from './exit.js'
import type { OutputLoss } from './output-loss.js'
import { eventMessage } from './reporters/messages.js'
import { StopOnSignal } from './stop-on-signal.js'
import { external } from './text.js'
import { trainOptionsOf } from './train-flags.js'

const NOTES = `
The prompt knows \`job\`, its \`actors\` and everything that 'arbalest' exports. \`await\` works at the top level:

  > await actors.synchroniser.ask.pause()
  > (await actors.supervisor.ask.population()).places
  > await actors.synchroniser.ask.set({ learningRate: 0.01 })
  > await actors.synchroniser.ask.resume()

.exit, Ctrl-D or a signal stops the run at its next round, as the end of the terminal does.`

export const defineRepl: DefineCommand = (command, { output, finish }) => {
  command
    .argument('[config]', 'a module that exports options (default: arbalest.config.ts of the working folder)')
    .addHelpText('after', NOTES)
    .action(async (config: string | undefined) => finish(await runRepl(config, output)))
}

/** `arbalest repl`: starts a run, and a prompt at which it is talked to. */
async function runRepl(named: string | undefined, output: OutputLoss): Promise<ExitCode> {
  const config = await chosenConfig({ named })
  const job = started(config)
  const prompt = start({ prompt: '> ', useGlobal: false })
  Object.assign(prompt.context, arbalest, { arbalest, job, actors: job.actors })
  const shown = show(job, prompt)
  const left = deferred()
  // What is typed may wait for ever: then the prompt, though it is closed, does not come to its end.
  const leave = () => {
    prompt.close()
    left.resolve()
  }
  prompt.once('exit', left.resolve)
  // A terminal that is closed cannot be read.
  prompt.on('error', leave)
  using signals = new StopOnSignal(leave)
  output.continueAfterLoss(leave)
  await left.promise
  job.stop()
  await shown
  return (await job.finished).checkpoints === 'incomplete' ? EXIT.failed : (signals.exitCode ?? EXIT.done)
}

function started({ file, options }: Awaited<ReturnType<typeof chosenConfig>>): Job {
  try {
    return train(trainOptionsOf({}, options))
  } catch (error) {
    throw asTyped(error, { nameOf: () => undefined, file })
  }
}

/** Writes what happens in the run above the line that is being typed, and once the prompt is left, what is still to come. */
async function show(job: Job, prompt: REPLServer): Promise<void> {
  let isOpen = true
  prompt.once('close', () => (isOpen = false))
  const tell = (message: string) => {
    prompt.output.write(`${isOpen && prompt.terminal ? '\r\x1b[K' : ''}${message}\n`)
    // It would read from the terminal again, which keeps the process alive.
    if (isOpen) prompt.displayPrompt(true)
  }
  try {
    for await (const event of job) {
      const message = event.event === 'progress' ? undefined : eventMessage(event)
      if (message !== undefined) tell(message)
    }
  } catch (error) {
    // `job.finished` rejects with it once the prompt is left.
    const code = codeOf(error)
    tell(`${code}: ${external(messageOf(error))}`)
  }
}
