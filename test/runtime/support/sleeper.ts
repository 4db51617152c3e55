import { spawnSync } from 'node:child_process'

/** Blocks its thread where no flag and no `terminate()` reaches it. */
export class Sleeper {
  sleepInNativeCode(seconds: number): void {
    spawnSync('sleep', [String(seconds)])
  }
}
