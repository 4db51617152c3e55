import { hasColours } from '../terminal.js'

/** The environment of the processes that a launch starts: they write to it, and so have colours where it has. */
export function launchedEnvironment(variables: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  return { ...process.env, ARBALEST_LAUNCHED: '1', ...(hasColours(process.stdout) && { FORCE_COLOR: '1' }), ...variables }
}
