import type { ActorClass, ActorOf, OptionsOf } from './actor.js'
import type { Realm } from './realm.js'
import type { ActorRef } from './ref.js'
import { checkSupervision, type Supervision } from './restart-policy.js'
import type { LocalSpawnOptions, Offspring, SpawnOptions } from './spawning.js'

/**
 * The children of an actor in a worker. What it takes to have some is half of the runtime, and is loaded with the first of them: most actors there have
 * none, and a thread that loads less is up sooner.
 */
export class LateFamily implements Offspring {
  readonly #parent: string
  readonly #realm: Realm
  readonly #fail: (error: Error) => void
  #supervision: Supervision = {}
  #family: Promise<Offspring> | undefined

  constructor(parent: string, realm: Realm, fail: (error: Error) => void) {
    this.#parent = parent
    this.#realm = realm
    this.#fail = fail
  }

  supervise(supervision: Supervision): void {
    checkSupervision(supervision)
    this.#supervision = { ...this.#supervision, ...supervision }
    void this.#family?.then((family) => family.supervise(supervision))
  }

  async spawn<C extends ActorClass>(
    module: URL,
    className: string,
    options: OptionsOf<C>,
    how: SpawnOptions = {}
  ): Promise<ActorRef<ActorOf<C>>> {
    return (await this.#loaded()).spawn<C>(module, className, options, how)
  }

  async spawnHere<C extends ActorClass>(actorClass: C, options: OptionsOf<C>, how: LocalSpawnOptions = {}): Promise<ActorRef<ActorOf<C>>> {
    return (await this.#loaded()).spawnHere(actorClass, options, how)
  }

  async stop(options: { readonly deadline?: number } = {}): Promise<void> {
    await (await this.#family)?.stop(options)
  }

  #loaded(): Promise<Offspring> {
    return (this.#family ??= import('./family.js').then(({ Family }) => {
      const family = new Family(this.#parent, this.#realm, this.#fail)
      family.supervise(this.#supervision)
      return family
    }))
  }
}
