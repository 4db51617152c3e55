import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ROOT, type Ended } from './arbalest.js'

const RUNNER = fileURLToPath(new URL('each-in-turn.js', import.meta.url))

/**
 * The command line with each of these arguments in turn, in one process: it starts once, and only the command line's own state is new each time. For
 * command lines that are refused before any work.
 */
export function eachInTurn(commandLines: readonly (readonly string[])[]): Promise<readonly Pick<Ended, 'code' | 'stdout' | 'stderr'>[]> {
  const child = spawn(process.execPath, [RUNNER], { cwd: ROOT, env: { ...process.env, NO_COLOR: '1' }, stdio: ['pipe', 'pipe', 'inherit'] })
  let answer = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (answer += text))
  child.stdin.end(JSON.stringify(commandLines))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve(JSON.parse(answer) as Awaited<ReturnType<typeof eachInTurn>>)
      else reject(new Error(`the process ended with status ${code}: ${answer}`))
    })
  })
}
