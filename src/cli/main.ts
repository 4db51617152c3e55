import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command, CommanderError, type Option } from 'commander'
import { ArbalestError } from '../errors.js'
import type * as Launcher from '../hosts/launcher.js'
import type * as Tenants from '../hosts/tenants.js'
import { REQUIRES_MODULES } from '../node.js'
import { EXIT_CODES_HELP, type DefineCommand } from './command.js'
import { EXIT, exitCodeOf, reportError, type ExitCode, printWarnings } from './exit.js'
import { keepHangUpIgnored, leaveClosedTerminal } from './hang-up.js'
import { missingCommand } from './missing-command.js'
import { OutputLoss } from './output-loss.js'
import { isUnknownOption, refusedTraining, refusedUsage } from './refused-usage.js'
import type * as TrainFlags from './train-flags.js'

const require = createRequire(import.meta.url)

/** Loads modules one after the other, where `require` takes ES modules. `import()` opens all files of a module graph at once, more than a low limit of descriptors allows. */
async function load(path: string): Promise<unknown> {
  return REQUIRES_MODULES ? require(path) : import(new URL(path, import.meta.url).href)
}

const { isHubProcess } = (await load('../hosts/launcher.js')) as typeof Launcher
const { isFirstProcess, jobOfProcess } = (await load('../hosts/tenants.js')) as typeof Tenants

interface CommandEntry {
  readonly name: string
  readonly description: string
  /** What the command's functions import when they are called. They are loaded before, for the reason above. */
  readonly imports?: readonly string[]
  /** Exports the function that defines the command, under this name. */
  readonly module: string
  readonly exported: string
  /** False for a command whose output is not ours, and for one whose own commands have --json. */
  readonly hasJson?: false
}

const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'train',
    description: 'Trains a model. Omitted options get defaults that suit the model.',
    module: './train-command.js',
    imports: ['../run/run.js'],
    exported: 'defineTrain'
  },
  {
    name: 'crossover',
    description: 'Trains several jobs on one device: each computes while the others exchange.',
    module: './crossover-command.js',
    imports: ['../run/run.js', '../crossover/device-scheduler.js'],
    exported: 'defineCrossover'
  },
  {
    name: 'launch',
    description: 'Trains on several hosts: starts a process on each by mpirun or srun, and starts again if one is lost.',
    module: './launch/launch-command.js',
    exported: 'defineLaunch'
  },
  {
    name: 'hub',
    description: 'Serves processes that train on several hosts: makes their sums and applies their rule, without learners.',
    module: './hub-command.js',
    imports: ['../run/hosts/serve-hub.js'],
    exported: 'defineHub'
  },
  {
    name: 'init',
    description: 'Writes a commented arbalest.config.ts into the working folder.',
    module: './init-command.js',
    exported: 'defineInit'
  },
  {
    name: 'export',
    description: 'Writes a model as ONNX or safetensors.',
    module: './models/export-command.js',
    exported: 'defineExport'
  },
  {
    name: 'import',
    description: "Converts a safetensors file with PyTorch's names to one that describes its model.",
    module: './models/export-command.js',
    exported: 'defineImport'
  },
  {
    name: 'eval',
    description: 'Measures a model on the test samples of a data set.',
    module: './models/eval-command.js',
    imports: ['../trained/open-model.js'],
    exported: 'defineEval'
  },
  {
    name: 'predict',
    description: 'Classifies images and texts, and predicts rows of tables.',
    module: './models/predict-command.js',
    imports: ['../trained/open-model.js'],
    exported: 'definePredict'
  },
  {
    name: 'generate',
    description: 'Continues a prompt with a model that was trained on a text.',
    module: './models/generate-command.js',
    imports: ['../trained/open-model.js'],
    exported: 'defineGenerate'
  },
  {
    name: 'explain',
    description: 'Shows the operators of a training step with their arithmetic, time and memory.',
    module: './explain/explain-command.js',
    imports: ['../run/explain/explain-step.js', '../run/explain/predict-step.js'],
    exported: 'defineExplain'
  },
  {
    name: 'doctor',
    description: 'Checks whether this machine can train, and says how to fix what is missing.',
    module: './doctor-command.js',
    exported: 'defineDoctor'
  },
  {
    name: 'setup',
    description: 'Builds the native engine for this processor unless that is done; installs compilers and oneDNN if it may.',
    module: './setup-command.js',
    exported: 'defineSetup',
    hasJson: false
  },
  {
    name: 'data',
    description: 'Fetches published data sets and checks their files.',
    module: './data-command.js',
    exported: 'defineData',
    hasJson: false
  },
  {
    name: 'top',
    description: 'Shows the actors of running jobs, every second.',
    module: './top/top-command.js',
    exported: 'defineTop'
  },
  {
    name: 'ctl',
    description: 'Pauses, looks at, changes and stops a run that trains in another process.',
    module: './ctl/ctl-command.js',
    exported: 'defineCtl'
  },
  {
    name: 'repl',
    description: 'Starts a run and a prompt at which to talk to it.',
    module: './repl-command.js',
    imports: ['../run/run.js'],
    exported: 'defineRepl',
    hasJson: false
  },
  {
    name: 'runs',
    description: 'Lists runs from their logs, compares their options and plots their curves.',
    module: './runs/runs-command.js',
    exported: 'defineRuns'
  },
  {
    name: 'dashboard',
    description: 'Shows runs from their logs in a browser, also those that still write.',
    module: './dashboard-command.js',
    exported: 'defineDashboard'
  }
]

/** The command line with the flags of the `selected` command. */
async function commandLine(selected: string | undefined, output: OutputLoss, finish: (code: ExitCode) => void): Promise<Command> {
  const program = new Command('arbalest')
    .description('Trains deep networks with many small-batch learners on each device.')
    .version(version())
    .addHelpText('after', EXIT_CODES_HELP)
    .configureOutput({ outputError: () => {} })
    .exitOverride()
  for (const { name, description, module, imports = [], exported, hasJson = true } of COMMANDS) {
    const command = program.command(name).description(description).allowExcessArguments(false)
    if (name !== selected) continue
    const { [exported]: define } = (await load(module)) as Readonly<Record<string, DefineCommand>>
    command.hook('preAction', async () => {
      for (const each of imports) await load(each)
    })
    define!(command, { version: version(), output, finish })
    if (hasJson) command.option('--json', 'write only JSON to stdout, one object per line')
    command.option('--stack', 'show the stack trace of an error (also ARBALEST_STACK=1)')
    command.helpOption('-h, --help', 'show this help')
    command.addHelpText('after', EXIT_CODES_HELP)
  }
  return program
}

/** The command that the arguments name, also after `help`. */
function selectedCommand(argv: readonly string[]): string | undefined {
  const [first, second] = argv.filter((argument) => !argument.startsWith('-'))
  return first === 'help' ? second : first
}

function version(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }
  return manifest.version
}

/** An error of commander as one of ours, which refers to the help of the `selected` command. */
async function usageError(
  error: CommanderError,
  { program, selected, argv }: { program: Command; selected: string | undefined; argv: readonly string[] }
): Promise<ArbalestError> {
  const options = program.commands.find((command) => command.name() === selected)?.options ?? []
  const early = selected !== undefined && optionBefore(options, argv)
  if (early) {
    const message = `${early}: received before ${selected}; put it behind: arbalest ${selected} ${early}`
    return new ArbalestError('INVALID_OPTION', message, { cause: error })
  }
  if (selected === 'train') return refusedTraining(error, options, await trainFlagMeantBy())
  const training = selected === 'launch' && !argv.includes('--') && argv.find((word) => ['train', 'crossover'].includes(word))
  const isEarly = training && isUnknownOption(error)
  const fix = isEarly ? `put -- before ${training}, whose options follow it: arbalest launch -n 2 -- ${training} ...` : undefined
  const names = COMMANDS.map(({ name }) => name)
  return refusedUsage(error, { command: ['arbalest', ...names.filter((name) => name === selected)].join(' '), options, fix })
}

/** The first argument, where it is one of the options of the command that follows it. */
function optionBefore(options: readonly Option[], [first = '']: readonly string[]): string | undefined {
  return options.find(({ long, short }) => first === long || first === short) && first
}

async function trainFlagMeantBy(): Promise<(typed: string) => string | undefined> {
  const { flagMeantBy } = (await load('./train-flags.js')) as typeof TrainFlags
  return flagMeantBy
}

/** Milliseconds that the other processes of a launcher leave to the first one, whose end makes the launcher end them. */
const FIRST_SPEAKS_MS = 2_000

/** Under `launch --hubs` all processes have one command line, of which hubs need no more than how errors are shown. */
function commandOfProcess(argv: readonly string[]): readonly string[] {
  const trains = ['train', 'crossover'].includes(selectedCommand(argv) ?? '')
  return trains && isHubProcess() ? ['hub', ...argv.filter((word) => word === '--json' || word === '--stack')] : argv
}

/** Carries out what the arguments say. What commander refuses is thrown as an error of ours. */
async function carryOut(program: Command, argv: readonly string[], selected: string | undefined): Promise<void> {
  try {
    await program.parseAsync(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    // Help that was asked for.
    if (error.exitCode === 0) return
    throw error.code === 'commander.help' ? missingCommand(program, argv) : await usageError(error, { program, selected, argv })
  }
}

async function main(argv: readonly string[]): Promise<ExitCode> {
  // Read before commander does, for errors in the command line itself.
  const json = argv.includes('--json')
  const stack = argv.includes('--stack') || process.env['ARBALEST_STACK'] === '1'
  const selected = selectedCommand(argv)
  let code: ExitCode = EXIT.done
  try {
    await carryOut(await commandLine(selected, new OutputLoss(process), (result) => (code = result)), argv, selected)
    return code
  } catch (failure) {
    // Most errors meet all processes that a launcher has started: one of them tells it, and only the first one writes to stdout.
    const isFirst = isFirstProcess()
    if (!isFirst) await sleep(FIRST_SPEAKS_MS)
    reportError(failure, { json: json && isFirst, stack, job: jobOfProcess() })
    return exitCodeOf(failure)
  }
}

keepHangUpIgnored()
leaveClosedTerminal()
printWarnings()
// Sets the code instead of calling process.exit, which would discard output that is still on its way to a pipe.
process.exitCode = await main(commandOfProcess(process.argv.slice(2)))
