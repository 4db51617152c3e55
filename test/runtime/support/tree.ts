import { DeferredReply } from '../../../src/runtime/actor.js'
import type { ActorContext } from '../../../src/runtime/context.js'
import type { ExitReason } from '../../../src/runtime/exit-reason.js'
import type { MailboxOptions } from '../../../src/runtime/flow-control.js'
import type { ActorRef } from '../../../src/runtime/actor-ref.js'
import type { RestartType, RestartStrategy } from '../../../src/runtime/supervision-policy.js'

/** An actor of a random tree. */
export interface TreeSpec {
  readonly restart: RestartType
  readonly strategy: RestartStrategy
  readonly mailbox: MailboxOptions
  readonly children: readonly TreeSpec[]
}

export type Entry =
  | { readonly what: 'started' | 'stopping' | 'restarted'; readonly actor: string }
  | { readonly what: 'handled'; readonly actor: string; readonly method: string; readonly sender: string; readonly number: number }

/** What all actors of a tree share: their log, and their refs by name. */
export interface Journal {
  readonly entries: Entry[]
  /** Refs by name; after a parent's restart the refs of its new children. */
  readonly refs: Map<string, ActorRef<TreeNode>>
  /** The number of the last tell, by sender and receiver. */
  readonly sent: Map<string, number>
}

export const INTENSITY = { restarts: 2, within: 1_000 }

/** Has children, records what happens to it, and passes messages on. */
export class TreeNode {
  readonly #spec: TreeSpec
  readonly #journal: Journal
  readonly #context: ActorContext<TreeNode>
  readonly #answers = new Map<string, (number: number) => void>()

  constructor({ spec, journal }: { spec: TreeSpec; journal: Journal }, context: ActorContext<TreeNode>) {
    this.#spec = spec
    this.#journal = journal
    this.#context = context
    context.supervise({ strategy: spec.strategy, intensity: INTENSITY })
  }

  async started(): Promise<void> {
    this.#journal.entries.push({ what: 'started', actor: this.#context.name })
    for (const [i, spec] of this.#spec.children.entries()) await plant(this.#context, String(i), spec, this.#journal)
  }

  restarted(_reason: ExitReason): void {
    this.#journal.entries.push({ what: 'restarted', actor: this.#context.name })
  }

  stopping(): void {
    this.#journal.entries.push({ what: 'stopping', actor: this.#context.name })
  }

  note(sender: string, number: number): number {
    this.#handled('note', sender, number)
    return number
  }

  /** Answers later, by a timer; handles other messages meanwhile. */
  later(sender: string, number: number, milliseconds: number): DeferredReply<number> {
    this.#handled('later', sender, number)
    return new DeferredReply(
      new Promise((resolve) => {
        this.#answers.set(`${sender} ${number}`, resolve)
        this.#context.after(milliseconds).answer(sender, number)
      })
    )
  }

  answer(sender: string, number: number): void {
    this.#answers.get(`${sender} ${number}`)?.(number)
  }

  forward(sender: string, number: number, target: string): void {
    this.#handled('forward', sender, number)
    tellNote(this.#journal, this.#context.name, target)
  }

  fail(sender: string, number: number): never {
    this.#handled('fail', sender, number)
    throw new Error('told to fail')
  }

  #handled(method: string, sender: string, number: number): void {
    this.#journal.entries.push({ what: 'handled', actor: this.#context.name, method, sender, number })
  }
}

/** Spawns an actor of the tree and remembers its ref. */
export async function plant(
  parent: Pick<ActorContext<TreeNode>, 'spawnLocal'>,
  name: string,
  spec: TreeSpec,
  journal: Journal
): Promise<ActorRef<TreeNode>> {
  const { restart, mailbox } = spec
  const ref = await parent.spawnLocal(TreeNode, { spec, journal }, { name, restart, mailbox })
  journal.refs.set(ref.name, ref)
  return ref
}

export function tellNote(journal: Journal, sender: string, target: string): void {
  journal.refs.get(target)?.tell.note(sender, nextNumber(journal, sender, target))
}

export function nextNumber(journal: Journal, sender: string, target: string): number {
  const pair = `${sender} ${target}`
  const number = (journal.sent.get(pair) ?? 0) + 1
  journal.sent.set(pair, number)
  return number
}
