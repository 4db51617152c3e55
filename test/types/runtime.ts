/** What must not compile: checked by tsc, never run. */
import type { ActorSystem } from '../../src/runtime/system.js'
import type { Faulty, Recorder } from '../runtime/support/actors.js'

export async function wrongUses(system: ActorSystem, module: URL): Promise<void> {
  const recorder = await system.spawn<typeof Recorder>(module, 'Recorder', {})
  const text: string = await recorder.ask.slowly('a', 1)
  const later: string = await recorder.ask.wait()
  recorder.tell.note(text + later)
  // @ts-expect-error there is no such method
  recorder.tell.sing()
  // @ts-expect-error an argument of the wrong type
  recorder.tell.note(7)
  // @ts-expect-error an argument too few
  await recorder.ask.slowly('a')
  // @ts-expect-error the answer is a string
  const wrong: number = await recorder.ask.wait()
  const faulty = await system.spawn<typeof Faulty>(module, 'Faulty', { failToStart: true })
  // @ts-expect-error hooks are not messages
  await faulty.ask.started()
  // @ts-expect-error an option of the wrong type
  await system.spawn<typeof Faulty>(module, 'Faulty', { failToStart: 1 + wrong })
}
