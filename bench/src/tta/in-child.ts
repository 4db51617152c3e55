import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ArbalestError } from '../errors.js'

/** Runs a module with a request in a new process. Resolves with the JSON that it prints, or with undefined if it does not end in `seconds`. */
export async function inChild<T>(module: string, request: object, seconds: number): Promise<T | undefined> {
  const file = fileURLToPath(new URL(module, import.meta.url))
  const running = promisify(execFile)(process.execPath, [file, JSON.stringify(request)], {
    timeout: seconds === Infinity ? 0 : Math.ceil(1000 * seconds),
    killSignal: 'SIGKILL',
    maxBuffer: 2 ** 26
  })
  const end = () => void running.child.kill('SIGKILL')
  process.once('exit', end)
  try {
    const { stdout } = await running
    return JSON.parse(stdout) as T
  } catch (error) {
    const { killed = false, stderr = '' } = error as { killed?: boolean; stderr?: string }
    if (killed) return undefined
    throw new ArbalestError('INTERNAL', `a run of the bench failed: ${stderr.trim() || String(error)}`, { cause: error })
  } finally {
    process.off('exit', end)
  }
}
