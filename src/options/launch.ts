import { Faults } from '../schema/faults.js'
import { group, option, type CheckedOptions, type GivenOptions, type ToldByName } from '../schema/group.js'
import { text, truth, whole } from '../schema/values.js'

export const launchOptions = group({
  /** How many processes train; if omitted, one for each slot of the hosts that no hub takes. */
  processes: option(whole({ min: 1, max: 65536 }), {
    text: 'processes that train',
    flag: '-n, --processes <count>',
    otherwise: 'one for each slot of the hosts that no hub takes'
  }),
  /** How many processes more are hubs, on the last slots of the hosts: they have no learners and make the sums of those that train. See docs/clusters.md. */
  hubs: option(whole({ max: 65536 }), {
    text: 'processes more, on the last slots, that have no learners and make the sums of those that train',
    flag: '--hubs <count>',
    default: 0
  }),
  /** A file with a host a line, as `node1` or `node1 slots=2`. If omitted: the nodes of the Slurm allocation, otherwise this machine. */
  hostfile: option(text('the path of a file with a host a line'), {
    text: 'hosts, one a line, with the processes that each takes: node1 slots=2',
    flag: '--hostfile <file>',
    otherwise: 'the Slurm allocation, or this machine'
  }),
  /** The fewest hosts with which the run may go on after others are lost. */
  hostsMin: option(whole({ min: 1 }), {
    text: 'the fewest hosts with which the run goes on when others are lost',
    flag: '--hosts-min <count>',
    default: 1
  }),
  /** How many times the run is started again from its newest checkpoint; only with `--checkpoint-dir`. */
  restarts: option(whole({ max: 1_000_000 }), {
    text: 'how many times to start again from the newest checkpoint when a process or a host is lost; needs --checkpoint-dir',
    flag: '--restarts <count>',
    default: 3
  }),
  /**
   * If a process is lost, the others go on without it and its learners, and the run is not started again. Only with Open MPI from version 5 on (ULFM). The loss of
   * the first process still ends the run.
   */
  shrink: option(truth(), {
    text: 'when a process is lost, go on without it and its learners instead of starting again; needs Open MPI 5',
    flag: '--shrink',
    default: false
  }),
  /** `mpirun`, `mpiexec` or `srun`, by name or path. */
  launcher: option(text('the name or path of a launcher'), {
    text: 'mpirun, mpiexec or srun, by name or path',
    flag: '--launcher <program>',
    otherwise: 'srun in a Slurm allocation, or the launcher of the MPI that was built'
  }),
  /** Prints the command line and starts nothing. */
  dryRun: option(truth(), { text: 'print the command line of the launcher, and start nothing', flag: '--dry-run', default: false })
})

/** The options of `arbalest launch`. */
export interface LaunchOptions extends GivenOptions<typeof launchOptions>, ToldByName {}

export type LaunchSettings = CheckedOptions<typeof launchOptions>

/** Checks every option. Throws INVALID_OPTION. */
export function launchSettings(given: LaunchOptions): LaunchSettings {
  const faults = new Faults()
  const settings = faults.checked(launchOptions, given, { root: launchOptions.entries })
  faults.throwAny()
  return settings
}
