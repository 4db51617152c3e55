import { join } from 'node:path'

/**
 * The user's folder for what can be made again: $ARBALEST_CACHE, $XDG_CACHE_HOME/arbalest or ~/.cache/arbalest, as the engine chooses it
 * (native/src/cuda/device/plan_cache.cpp). Undefined if none of these is set.
 */
export function cacheFolder({ ARBALEST_CACHE, XDG_CACHE_HOME, HOME }: NodeJS.ProcessEnv = process.env): string | undefined {
  if (ARBALEST_CACHE) return ARBALEST_CACHE
  if (XDG_CACHE_HOME) return join(XDG_CACHE_HOME, 'arbalest')
  return HOME ? join(HOME, '.cache', 'arbalest') : undefined
}
