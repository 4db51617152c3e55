import { evaluationShares, isSharedOut, type Evaluators } from '../../actors/evaluators.js'
import { startFeed } from '../../actors/feed.js'
import type { JobScope } from '../../actors/job-scope.js'
import { makeSources, makeTestSources, planTestSources } from '../../actors/sources.js'
import { LearnersOfHosts } from '../hosts/learners-of-hosts.js'
import { leaderOf } from '../hosts/meeting.js'
import { ownLearners } from '../hosts/own-learners.js'
import { movedVectors } from '../memory/moved-vectors.js'
import type { PreparedRun } from '../prepare/prepare.js'
import type { RunActors } from './run-actors.js'
import type { RunHooks } from './run-hooks.js'
import { measuringPasses, startEvaluators, type EvaluatorParts } from './start-evaluators.js'
import { startSupervisor } from './start-supervisor.js'
import { startSynchroniser } from './start-synchroniser.js'

/**
 * Puts data and programs into the engine and starts the actors. The learners have joined the group and wait for `train`. `learnerModule` exports the
 * learner. Throws OUT_OF_MEMORY, LEARNER_FAILED and what the actors throw.
 */
export async function startActors(run: PreparedRun, learnerModule: URL, scope: JobScope, hooks: RunHooks): Promise<RunActors> {
  const { dataset, programs, settings, sourcePlan, hosts } = run
  const { engine } = scope
  // What the search for a plan has freed, of which the C library keeps some ten megabytes, must not lie beside what the limit allows.
  if (run.restoration) engine.trim()
  const moved = movedVectors(run, scope)
  const synchroniser = await startSynchroniser(run, scope, hooks, moved)
  const group = await synchroniser.ask.group()

  const { evaluate, statistics } = await measuringPasses(run, scope)
  const ranks = hosts?.host.ranks ?? []
  const shares = evaluationShares(evaluate, run.evaluators, hosts && { rank: hosts.host.numberOf(), size: ranks.length })
  const sources = makeSources(dataset, sourcePlan, shares.length, scope)
  const feed = await startFeed(dataset, sources.streams, scope, { seed: settings.seed, skipped: hooks.skipped })
  const parts: EvaluatorParts = { group, feed, sources, shares, statistics, moved }
  const evaluators = await startEvaluators(run, scope, hooks.shared, parts)
  const supervisor = await startSupervisor(run, learnerModule, scope, hooks, { group, sources, moved })

  const own = ownLearners({ synchroniser, supervisor, evaluators })
  const leader = leaderOf(hosts)
  const all = leader && new LearnersOfHosts(hosts!.host, leader, own, settings.learners)
  const measuring = all && isSharedOut(programs.evaluate, hosts!.host.size) ? all : own
  const substitutesFor = (rank: number) => {
    const taken = evaluationShares(evaluate, 1, { rank: ranks.indexOf(rank), size: ranks.length })
    return startSubstitutes(run, scope, hooks, { ...parts, shares: taken })
  }
  const loseHost = async (rank: number) => {
    const instead = measuring === all ? await substitutesFor(rank) : undefined
    all!.lose(rank, async () => instead?.findings() ?? [])
  }
  const feedStatus = sourcePlan.train ? () => engine.streamStatus(sources.train) : undefined
  return {
    synchroniser,
    status: await synchroniser.ask.statusReader(),
    supervisor,
    learners: all ?? own,
    evaluators,
    measure: async () => evaluators.scoresOf(await measuring.findings()),
    loseHost,
    feed,
    group,
    moved: moved?.all ? moved.vectors : undefined,
    dataWaited: () => feedStatus?.().waitSeconds ?? 0,
    feedStatus
  }
}

/** Evaluators of this host for the `shares` of another one. `parts` are otherwise those of this host's own. */
async function startSubstitutes(
  run: PreparedRun,
  scope: JobScope,
  { shared, skipped }: RunHooks,
  { sources, shares, ...parts }: EvaluatorParts
): Promise<Evaluators> {
  const { dataset, dataMemory, settings } = run
  const plan = planTestSources(dataset, shares, dataMemory)
  const { tests, streams } = plan ? makeTestSources(dataset, plan, shares.length, scope) : { tests: sources.tests, streams: [] }
  const feed = await startFeed(dataset, streams, scope, { seed: settings.seed, skipped })
  return startEvaluators(run, scope, shared, { ...parts, feed, sources: { ...sources, tests }, shares })
}
