import type { Choice } from './choice.js'

/** Takes one input, which it makes of what is chosen. What it throws by a code is a refusal; anything else is a fault. */
export type Target = (choice: Choice) => void | Promise<void>

/** Makes a target ready. `folder` is for its files and goes when its process has ended. */
export type MakeTarget = (folder: string) => Target | Promise<Target>
