import { existsSync, readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { engine } from '../../engine/native.js'
import type { BackendDescription } from '../../engine/contract.js'
import { processorFeatures, processorName, usableCores, usableMemory } from '../../engine/machine.js'
import { messageOf } from '../../errors.js'
import { bytes } from '../figures.js'
import { cuda } from './cuda.js'
import type { Finding } from './finding.js'
import { firstLineOf } from './tools.js'

const SET_UP = 'run `npx arbalest setup`'

/** All that training wants of this machine, whether the native engine can be loaded or not. */
export function findings(): readonly Finding[] {
  return [system(), node(), processor(), memory(), ...backends(), ...buildTools(), ...cuda()]
}

function system(): Finding {
  const name = /^PRETTY_NAME="?(.*?)"?$/m.exec(textOf('/etc/os-release'))?.[1] ?? process.platform
  const detail = `${name}, ${process.arch}`
  return process.platform === 'linux'
    ? { name: 'system', status: 'present', detail }
    : { name: 'system', status: 'missing', detail, mend: 'use Linux: the native engine is built for it alone so far' }
}

/** As `engines` in package.json has it. */
export function supportsNode(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22
}

function node(): Finding {
  const found = { name: 'Node.js', detail: process.version }
  return supportsNode(process.version)
    ? { ...found, status: 'present' }
    : { ...found, status: 'missing', mend: 'use 20.19 or newer of 20, or 22.12 or newer' }
}

function processor(): Finding {
  const cores = usableCores()
  const detail = `${processorName()}; ${cores} ${cores === 1 ? 'core' : 'cores'} usable; ${processorFeatures().join(' ') || 'none of the known features'}`
  return { name: 'processor', status: 'present', detail }
}

function memory(): Finding {
  return { name: 'memory', status: 'present', detail: `${bytes(usableMemory())} usable of ${bytes(totalmem())}` }
}

function backends(): readonly Finding[] {
  try {
    return engine.describe().backends.map(backend)
  } catch (error) {
    const detail = messageOf(error)
    return [{ name: 'native engine', status: 'missing', detail, mend: SET_UP }]
  }
}

function backend({ name, available, detail, precisions }: BackendDescription): Finding {
  const finding = { name: `backend ${name}`, detail: available ? `${detail}; ${precisions.join(', ')}` : detail }
  return available ? { ...finding, status: 'present' } : { ...finding, status: 'missing', mend: SET_UP }
}

/** Wanted by set-up only: an engine that is built runs without them. */
function buildTools(): readonly Finding[] {
  const tools: readonly (readonly [string, readonly string[]])[] = [
    ['g++', ['g++']],
    ['cmake', ['cmake']],
    ['make', ['ninja', 'make']]
  ]
  const found = tools.map(([aptName, commands]): Finding => {
    for (const command of commands) {
      const version = firstLineOf(command, '--version')
      if (version !== undefined) return { name: command, status: 'present', detail: version }
    }
    return notInstalled(aptName, aptName)
  })
  return [...found, oneDnn()]
}

function oneDnn(): Finding {
  // Where scripts/setup looks, but for what only the compiler finds.
  const folders = ['/usr', '/usr/local', process.env['DNNL_ROOT'] ?? ''].map((folder) => join(folder, 'include'))
  const header = ['/usr/include/x86_64-linux-gnu', '/usr/include/aarch64-linux-gnu', ...folders]
    .map((folder) => join(folder, 'oneapi/dnnl/dnnl.hpp'))
    .find((file) => existsSync(file))
  return header === undefined ? notInstalled('oneDNN', 'libdnnl-dev') : { name: 'oneDNN', status: 'present', detail: header }
}

function notInstalled(name: string, aptName: string): Finding {
  return { name, status: 'absent', detail: 'not installed; wanted to build the engine', mend: `apt-get install ${aptName}` }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
