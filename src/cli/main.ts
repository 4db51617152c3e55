import { readFileSync } from 'node:fs'
import { Command, CommanderError, Option } from 'commander'
import { ArbalestError } from '../index.js'
import { runDoctor } from './doctor-command.js'
import { EXIT, exitCodeOf, reportError, type ExitCode } from './exit.js'
import { addExplainFlags, runExplain, type ExplainFlags } from './explain/explain-command.js'
import { keepHangUpIgnored } from './hang-up.js'
import { LostOutput } from './lost-output.js'
import { runInit, type InitFlags } from './init-command.js'
import { addModelCommands } from './models/commands.js'
import { wholeNumber } from './numbers.js'
import { runSetup, type SetupFlags } from './setup-command.js'
import { runRuns, type RunsFlags } from './runs/runs-command.js'
import { runTop } from './top/top-command.js'
import { runTrain } from './train-command.js'
import { addTrainFlags } from './train-flags.js'

const EXIT_CODES = `
Exit codes: 0 done, 1 failed, 2 wrong usage, 129 stopped by SIGHUP, 130 by SIGINT, 131 by SIGQUIT, 143 by SIGTERM, 141 output that nobody reads.`

const TRAIN_EXAMPLES = `
Examples:
  arbalest train                                     LeNet on generated digits, a learner a core
  arbalest train --model mlp --steps 100 --seed 7
  arbalest train --model resnet20 --data cifar-10 --data-dir ~/data --learners 2 --batch 32 --epochs 10
  arbalest train --lr 0.02                           with an arbalest.config.ts here: its options, flags over them
  arbalest train --config my-run.ts --json           options from another module

With --json stdout carries one object a line, the last of them {"event":"finished",...} or {"event":"failed",...}.
${EXIT_CODES}`

const TOP_NOTES = `
Waiting and messages are counts, /s and in turn are of the last second, wait and turn are means of it: from a message's arrival to its turn,
and of the turn itself. An actor at work owes an answer and takes messages meanwhile: a learner that trains does. A job shows itself to its own user alone, names and numbers only; ARBALEST_TOP=off in its environment hides it.
${EXIT_CODES}`

const JSON_FLAG = 'one JSON object a line on stdout, and nothing else'
const STACK_FLAG = 'show where an error came from (also ARBALEST_STACK=1)'

function commandLine(done: (code: ExitCode) => void, output: LostOutput): Command {
  const program = new Command('arbalest')
    .description('Trains deep networks with many small-batch learners on each device.')
    .version(version())
    .addHelpText('after', EXIT_CODES)
    .configureOutput({ outputError: () => {} })
    .exitOverride()
  const named = (name: string, description: string) =>
    program
      .command(name)
      .description(description)
      .option('--json', JSON_FLAG)
      .addOption(new Option('--stack', STACK_FLAG))
      .allowExcessArguments(false)

  addTrainFlags(named('train', 'Trains a model; what is left out gets the default that suits the model.'))
    .argument('[config]', 'short for --config <file>')
    .addHelpText('after', TRAIN_EXAMPLES)
    .action(async (config: string | undefined, { stack: _, ...flags }: Parameters<typeof runTrain>[1] & { stack?: boolean }) =>
      done(await runTrain(config, flags, output))
    )
  named('init', 'Writes a commented arbalest.config.ts into the working folder.')
    .option('--js', 'plain JavaScript: arbalest.config.mjs')
    .option('--force', 'over the one that is there')
    .option('--model <name>', 'of the zoo (lenet)')
    .option('--data <name>', 'a data set, or a folder of images (digits; tinyshakespeare for gpt)')
    .addHelpText('after', EXIT_CODES)
    .action(async (flags: InitFlags) => done(await runInit(flags)))
  addModelCommands(named, done)
  addExplainFlags(named('explain', 'Says what a training step consists of and what it costs: operators, arithmetic, memory.'))
    .addHelpText('after', EXIT_CODES)
    .action(async (model: string, { stack: _, ...flags }: ExplainFlags & { stack?: boolean; json?: boolean }) =>
      done(await runExplain(model, flags))
    )
  named('doctor', 'Says what this machine offers for training, what is missing, and the mend.')
    .addHelpText('after', EXIT_CODES)
    .action(({ json = false }: { json?: boolean }) => done(runDoctor({ json, version: version() })))
  // What it says is the compilers' own: no JSON.
  program
    .command('setup')
    .description('Builds the native engine for this processor, where that has not been done; installs compilers and oneDNN where it may.')
    .option('--cuda', 'the CUDA library, for NVIDIA GPUs, and what compiles it')
    .allowExcessArguments(false)
    .addHelpText('after', EXIT_CODES)
    .action((flags: SetupFlags) => done(runSetup(flags)))
  named('top', 'Shows what the actors of running jobs do, again every second.')
    .option('--pid <n>', 'the jobs of this process alone, until they end', wholeNumber('--pid'))
    .option('--once', 'one look and the end')
    .addHelpText('after', TOP_NOTES)
    .action(async ({ json = false, once = false, pid }: { json?: boolean; once?: boolean; pid?: number }) =>
      done(await runTop({ json, once, ...(pid !== undefined && { pid }) }))
    )
  named('runs', 'Lists runs from their logs, compares them and plots their curves.')
    .argument('[paths...]', 'logs, or folders of logs (runs)')
    .option('--run <name...>', 'these alone, by the beginning of their names')
    .option('--compare', 'which options differ')
    .option('--plot <file>', 'losses and accuracies over epochs as an SVG')
    .action(async (paths: readonly string[], flags: RunsFlags) => done(await runRuns(paths, flags)))
  return program
}

function version(): string {
  const described = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }
  return described.version
}

/** What commander calls a command or an option that there is not. */
const UNKNOWN: readonly string[] = ['commander.unknownCommand', 'commander.unknownOption']

/** Commander's complaints in the project's own form. The help that lists what there is, is that of the command that was `typed`. */
function usageError(error: CommanderError, commands: readonly string[], typed: string | undefined): ArbalestError {
  if (error.code === 'commander.help')
    return new ArbalestError('INVALID_OPTION', `command: received none; use one of ${commands.join(', ')}`, { cause: error })
  const what = error.message.replace(/^error: |\.$/g, '').replaceAll(/\s*\n\s*/g, ' ')
  const code = UNKNOWN.includes(error.code) ? 'UNKNOWN_NAME' : 'INVALID_OPTION'
  const help = ['arbalest', ...commands.filter((name) => name === typed), '--help'].join(' ')
  return new ArbalestError(code, `${what}; see \`${help}\``, { cause: error })
}

async function main(argv: readonly string[]): Promise<ExitCode> {
  // Wanted even where the command line cannot be read.
  const json = argv.includes('--json')
  const stack = argv.includes('--stack') || process.env['ARBALEST_STACK'] === '1'
  let code: ExitCode = EXIT.done
  const program = commandLine((result) => (code = result), new LostOutput(process))
  try {
    await program.parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done
    const commands = program.commands.map((command) => command.name())
    const failure = error instanceof CommanderError ? usageError(error, commands, argv[0]) : error
    reportError(failure, { json, stack })
    return exitCodeOf(failure)
  }
}

keepHangUpIgnored()
// Set and not called: what is on its way to a pipe gets there.
process.exitCode = await main(process.argv.slice(2))
