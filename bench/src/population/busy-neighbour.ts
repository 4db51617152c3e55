import { spawn } from 'node:child_process'

/** A process that keeps a core busy until it is disposed of. */
export function busyNeighbour(): Disposable {
  const child = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  return {
    [Symbol.dispose]: () => {
      process.off('exit', kill)
      kill()
    }
  }
}
