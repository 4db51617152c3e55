import { spawnSync } from 'node:child_process'
import { expect } from 'chai'

/** Hooks of module loading that tell of every file. */
const TELLS = `import { writeSync } from 'node:fs'
export function load(url, context, next) { writeSync(1, url + '\\n'); return next(url, context) }`
const REGISTERS = `import { register } from 'node:module'; register(${JSON.stringify(dataUrl(TELLS))})`

/** The files that a process of Node loads with these arguments, by their addresses. */
export function filesLoadedBy(args: readonly string[]): string[] {
  // What is required is not told of.
  const flags = ['--no-experimental-require-module', '--import', dataUrl(REGISTERS)]
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, ...args], { encoding: 'utf8' })
  expect(status, stderr).to.equal(0)
  return stdout.split('\n').filter((line) => line.startsWith('file:'))
}

function dataUrl(program: string): string {
  return `data:text/javascript,${encodeURIComponent(program)}`
}
