import { builtMpi } from '../../engine/mpi.js'
import { ArbalestError, invalidOption } from '../../errors.js'
import { inGivenRacks, placed, racksOf, readHostfile, slotsOf, type Host } from '../../hosts/hostfile.js'
import { canShrink, launcherLine, quoted, spread, type Launch } from '../../hosts/launcher-line.js'
import { launcherFor, type LauncherProgram } from '../../hosts/launcher-program.js'
import { launchOptions, launchSettings, type LaunchSettings } from '../../options/launch.js'
import { asTyped } from '../as-typed.js'
import type { CommonFlags, DefineCommand } from '../command.js'
import { EXIT, type ExitCode } from '../exit.js'
import { OptionFlags, type FlagValues } from '../option-flags.js'
import type { OutputLoss } from '../output-loss.js'
import { Agent } from './agent.js'
import { launchedEnvironment } from './launched-environment.js'
import { trainingOf } from './launched-training.js'
import { jobsIn, programOf, sharingLaunch, type LaunchedJob } from './sharing-jobs.js'

const flags = new OptionFlags(launchOptions.entries)

const NOTES = `
Examples:
  arbalest launch -n 2 -- train --model lenet --learners 4       two processes on this machine
  arbalest launch --hostfile hosts -- train --model resnet20     a process on each host of the file
  arbalest launch -n 4 --hubs 1 -- train --model resnet20        four train, and a fifth process is their hub
  arbalest launch -n 2 --hubs 1 -- train a.ts : -n 3 train b.ts  two jobs, of two and three processes, share a hub
  arbalest launch --hostfile hosts --dry-run -- train            shows the launcher's command line

Every host needs the same checkout at the same path with \`arbalest setup --mpi\` done, and must
be reachable by ssh without a password (or be in the Slurm allocation). Settings of the MPI library
go by its environment variables, such as OMPI_MCA_btl_tcp_if_include=eth0.`

export const defineLaunch: DefineCommand = (command, { output, finish }) => {
  flags.addTo(command)
  command
    .argument('<command...>', 'after --: train with its flags; further jobs, that share the hubs, after a colon each')
    .addHelpText('after', NOTES)
    .action(async (words: readonly string[], { json = false, stack = false, ...values }: CommonFlags & FlagValues) => {
      try {
        finish(await runLaunch({ words, values, json, stack, output }))
      } catch (error) {
        throw asTyped(error, { nameOf: (path) => flags.nameOf(path) })
      }
    })
}

interface Given {
  /** What is to be started on each host. */
  readonly words: readonly string[]
  readonly values: FlagValues
  readonly json: boolean
  readonly stack: boolean
  readonly output: OutputLoss
}

/** `arbalest launch`: starts a training on several hosts, and starts it again from its newest checkpoint when a host is lost. */
async function runLaunch({ words, values, json, stack, output }: Given): Promise<ExitCode> {
  const settings = launchSettings(flags.over({}, values))
  const jobs = jobsIn(words, settings)
  if (settings.hubs > 0 && words[0] === 'crossover')
    throw invalidOption(
      'hubs',
      settings.hubs,
      'leave it out: the jobs of a crossover have the same processes, and a hub knows jobs by theirs; give each its own: launch --hubs 1 -- train a.ts : train b.ts'
    )
  const racks = settings.hostfile === undefined || jobs.length > 1 ? undefined : racksOf(readHostfile(settings.hostfile))
  const tellsRacks = racks !== undefined && settings.hubs === 0 && words[0] === 'train' && !words.some((word) => /^--racks(=|$)/.test(word))
  const trainings = await Promise.all(jobs.map((job) => trainingOf([...job.words, ...(tellsRacks ? ['--racks', racks] : [])])))
  const [first] = trainings
  const built = builtMpi()
  if (!built)
    throw new ArbalestError('BACKEND_UNAVAILABLE', 'launch: MPI is not built on this host; run `npx arbalest setup --mpi` on every host')
  const launcher = launcherFor(built, settings.launcher, process.env)
  if (settings.shrink && !canShrink(launcher))
    throw invalidOption(
      'shrink',
      true,
      `leave it out: ${launcher.kind} ${launcher.version} ends all processes with one; only Open MPI from 5 on does not`
    )
  const hosts = hostsOf(settings, launcher, jobs)
  const { hubs } = settings
  const launch =
    jobs.length > 1
      ? sharingLaunch(jobs, { hosts, hubs, launcher, json })
      : { ...soloLaunch(words, { hosts, settings, json }), tellsRacks, sumsByRack: first!.sumsByRack }
  if (settings.dryRun) return show(launcherLine(launcher, launch), launch, json)
  const overfits = trainings.some((training) => training.overfits)
  const restarts = jobs.length === 1 && first!.keepsCheckpoints ? settings.restarts : 0
  const givenRacks = tellsRacks ? undefined : first!.racks
  return new Agent({
    launcher,
    launch,
    allHosts: givenRacks ? inGivenRacks(hosts, launch.hosts, givenRacks) : hosts,
    replacesRacks: givenRacks !== undefined,
    hubs,
    restarts,
    hostsMin: settings.hostsMin,
    overfits,
    json,
    raw: stack,
    output
  }).run()
}

/** One job, and its hubs if it has any: the same command line for all processes. */
function soloLaunch(
  words: readonly string[],
  { hosts, settings, json }: { hosts: readonly Host[]; settings: LaunchSettings; json: boolean }
): Launch {
  const { hubs } = settings
  const processes = processesOf(settings, hosts) + hubs
  return {
    hosts: hosts.length === 0 ? [] : placed(processes, hosts),
    processes,
    program: programOf(words, json),
    env: launchedEnvironment(hubs > 0 ? { ARBALEST_HUBS: String(hubs) } : {}),
    shrinks: settings.shrink,
    isRoot: process.getuid?.() === 0
  }
}

function show(line: readonly string[], launch: Launch, json: boolean): ExitCode {
  const { processes, hosts } = launch
  process.stdout.write(json ? `${JSON.stringify({ event: 'launch', processes, hosts, line })}\n` : `# ${spread(launch)}\n${quoted(line)}\n`)
  return EXIT.done
}

/** None under Slurm, whose allocation has them. */
function hostsOf({ hostfile, hubs }: LaunchSettings, { kind }: LauncherProgram, jobs: readonly LaunchedJob[]): readonly Host[] {
  if (hostfile !== undefined) return readHostfile(hostfile)
  const training = jobs.reduce((sum, { processes = 1 }) => sum + processes, 0)
  return kind === 'Slurm' ? [] : [{ name: 'localhost', slots: training + hubs }]
}

/** Those that train. */
function processesOf({ processes, hostfile, hubs }: LaunchSettings, hosts: readonly Host[]): number {
  if (processes !== undefined) return processes
  const tasks = hostfile === undefined ? Number(process.env['SLURM_NTASKS'] ?? process.env['SLURM_JOB_NUM_NODES']) : slotsOf(hosts)
  if ((hostfile !== undefined || hosts.length === 0) && tasks >= 1) {
    if (tasks > hubs) return tasks - hubs
    throw invalidOption('hubs', hubs, `use at most ${tasks - 1}: there are ${tasks} slots, and one process has to train`)
  }
  throw invalidOption('processes', undefined, 'give -n with the number of processes, or --hostfile with the hosts')
}
