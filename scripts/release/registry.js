import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { run } from './run.js'

const START_MS = 60_000

/**
 * A registry of npm on this machine, of its own in `folder`: it has the packages that are published there, and passes all others on from the registry of
 * this machine. Returns its `url`, `publish(tarball)` and `stop()`.
 */
export async function startRegistry(folder) {
  mkdirSync(folder, { recursive: true })
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const settings = join(folder, 'config.yaml')
  writeFileSync(settings, configuration(folder))
  writeFileSync(join(folder, 'npmrc'), `registry=${url}\n//127.0.0.1:${port}/:_authToken=of-this-folder\n`)

  const program = join(dirname(createRequire(import.meta.url).resolve('verdaccio/package.json')), 'bin', 'verdaccio')
  const log = join(folder, 'log')
  const out = openSync(log, 'a')
  const server = spawn(process.execPath, [program, '--config', settings, '--listen', `127.0.0.1:${port}`], { stdio: ['ignore', out, out] })
  const ended = once(server, 'exit')
  try {
    await answers(`${url}-/ping`, server, log)
  } catch (error) {
    server.kill('SIGKILL')
    throw error
  }
  return {
    url,
    publish: (tarball) => run('npm', ['publish', tarball, '--userconfig', join(folder, 'npmrc'), '--provenance=false', '--loglevel=error']),
    stop: async () => {
      server.kill('SIGTERM')
      await ended
    }
  }
}

function configuration(folder) {
  const upstream = run('npm', ['config', 'get', 'registry']).trim()
  const own = { access: '$all', publish: '$all' }
  return JSON.stringify({
    storage: join(folder, 'storage'),
    uplinks: { upstream: { url: upstream, timeout: '60s', max_fails: 20 } },
    packages: { arbalest: own, '@arbalest/*': own, '**': { access: '$all', proxy: 'upstream' } },
    max_body_size: '200mb',
    log: { type: 'stdout', format: 'pretty', level: 'warn' }
  })
}

/** Waits until the server answers. Throws an error with what it has logged if it ends first, or takes too long. */
async function answers(url, server, log) {
  const giveUp = AbortSignal.timeout(START_MS)
  while (server.exitCode === null && !giveUp.aborted) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.ok) return
    await sleep(100)
  }
  throw new Error(`the local registry did not start:\n${readFileSync(log, 'utf8')}`)
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  return port
}
