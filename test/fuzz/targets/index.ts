import type { Choice } from '../support/choice.js'
import { callsTarget } from './calls.js'
import { programTarget } from './program.js'
import { safetensorsTarget } from './safetensors.js'
import { settingsTarget } from './settings.js'

/** What is fuzzed, by name: each call makes the target ready, which then takes one input after another. */
export const targets: Readonly<Record<string, () => (choice: Choice) => void>> = {
  program: programTarget,
  calls: callsTarget,
  settings: settingsTarget,
  safetensors: safetensorsTarget
}
