import type { ActorClass, ActorOf, OptionsOf } from './actor.js'
import type { ActorRef } from './actor-ref.js'
import type { Children, LocalSpawnOptions, SpawnOptions } from './context.js'
import type { Environment } from './environment.js'
import { checkPolicy, type SupervisionPolicy } from './supervision-policy.js'

/**
 * The children of an actor in a worker. Their supervisor, half of the runtime's code, is loaded with the first child: most actors in workers
 * have none, and a thread that loads less starts sooner.
 */
export class LazyChildren implements Children {
  readonly #parent: string
  readonly #environment: Environment
  readonly #fail: (error: Error) => void
  #policy: SupervisionPolicy = {}
  #supervisor: Promise<Children> | undefined

  constructor(parent: string, environment: Environment, fail: (error: Error) => void) {
    this.#parent = parent
    this.#environment = environment
    this.#fail = fail
  }

  supervise(policy: SupervisionPolicy): void {
    checkPolicy(policy)
    this.#policy = { ...this.#policy, ...policy }
    void this.#supervisor?.then((supervisor) => supervisor.supervise(policy))
  }

  async spawn<C extends ActorClass>(
    module: URL,
    className: string,
    options: OptionsOf<C>,
    how: SpawnOptions = {}
  ): Promise<ActorRef<ActorOf<C>>> {
    return (await this.#loaded()).spawn<C>(module, className, options, how)
  }

  async spawnLocal<C extends ActorClass>(actorClass: C, options: OptionsOf<C>, how: LocalSpawnOptions = {}): Promise<ActorRef<ActorOf<C>>> {
    return (await this.#loaded()).spawnLocal(actorClass, options, how)
  }

  async stop(options: { readonly deadline?: number } = {}): Promise<void> {
    await (await this.#supervisor)?.stop(options)
  }

  #loaded(): Promise<Children> {
    return (this.#supervisor ??= import('./child-supervisor.js').then(({ ChildSupervisor }) => {
      const supervisor = new ChildSupervisor(this.#parent, this.#environment, this.#fail)
      supervisor.supervise(this.#policy)
      return supervisor
    }))
  }
}
