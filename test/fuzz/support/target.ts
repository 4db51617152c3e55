import type { Choice } from './choice.js'

/** Makes an input from random choices and runs it. An ArbalestError is a refusal; any other error is a fault. */
export type Target = (choice: Choice) => void | Promise<void>

/** Prepares a target. `folder` is for its files, and is deleted when the process has ended. */
export type MakeTarget = (folder: string) => Target | Promise<Target>
