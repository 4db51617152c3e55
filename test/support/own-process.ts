import { spawnSync } from 'node:child_process'

/** What an exported function of a module returns, called in a process of its own: a crash or a hang there fails the test and nothing else. */
export function inOwnProcess(module: URL, name: string, ...given: readonly unknown[]): unknown {
  const body = `
    import { ${name} } from '${module.href}'
    process.stdout.write(JSON.stringify(await ${name}(...${JSON.stringify(given)})))`
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', body], {
    encoding: 'utf8',
    timeout: 60_000,
    killSignal: 'SIGKILL'
  })
  if (status !== 0) throw new Error(`${name}: its process ended with ${signal ?? status}\n${stderr}`)
  return JSON.parse(stdout)
}
