import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { engineOrigin } from '../engine/addon.js'
import { buildState } from '../engine/build-state.js'
import type { BackendDescription } from '../engine/contract.js'
import { describeCuda, type CudaDevice, type CudaReport } from '../engine/cuda.js'
import { processorFeatures, processorName, usableCores } from '../engine/machine.js'
import { engine } from '../engine/native.js'
import { messageOf } from '../errors.js'
import type { Check } from './check.js'
import type { CommonFlags, DefineCommand } from './command.js'
import { EXIT, type ExitCode } from './exit.js'
import { hostChecks } from './host-checks.js'
import { disk, gpuCopies, memory } from './memory-checks.js'
import { colours } from './terminal.js'
import { bytes } from './text.js'

const SET_UP = 'run `npx arbalest setup`'

export const defineDoctor: DefineCommand = (command, { version, finish }) => {
  command.action(({ json = false }: CommonFlags) => finish(runDoctor({ json, version })))
}

/** `arbalest doctor`: checks whether this machine can train. Returns EXIT.failed if it cannot. */
function runDoctor({ json, version }: { json: boolean; version: string }): ExitCode {
  const checks = [system(), node(), processor(), memory(), ...backends(), disk(process.cwd()), ...buildTools(), ...cuda(), ...hostChecks()]
  const healthy = checks.every(({ status }) => status !== 'missing')
  process.stdout.write(json ? `${JSON.stringify({ event: 'doctor', healthy, version, checks })}\n` : report(version, checks, healthy))
  return healthy ? EXIT.done : EXIT.failed
}

function report(version: string, checks: readonly Check[], healthy: boolean): string {
  const marks = { present: colours.green('ok     '), absent: colours.yellow('absent '), missing: colours.red('missing') }
  const width = Math.max(...checks.map(({ name }) => name.length))
  const lines = checks.map(({ name, status, detail, fix }) => {
    const advice = fix === undefined ? '' : `\n${' '.repeat(width + 10)}-> ${fix}`
    return `${marks[status]} ${name.padEnd(width)}  ${detail}${advice}`
  })
  const verdict = healthy
    ? colours.green('Training can run here.')
    : colours.red('Training cannot run here yet: do what is said of what is missing.')
  return `arbalest ${version}\n${lines.join('\n')}\n${verdict}\n`
}

function system(): Check {
  const name = /^PRETTY_NAME="?(.*?)"?$/m.exec(textOf('/etc/os-release'))?.[1] ?? process.platform
  const detail = `${name}, ${process.arch}`
  return process.platform === 'linux'
    ? { name: 'system', status: 'present', detail }
    : { name: 'system', status: 'missing', detail, fix: 'use Linux: the native engine supports no other system yet' }
}

/** Whether a version of Node.js satisfies `engines` of package.json. */
export function supportsNode(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22
}

/** What runs this program: Bun and Deno tell the version of Node.js whose modules they have. */
export function runtimeOf({ node: version, bun, deno }: NodeJS.ProcessVersions): string {
  const other = bun === undefined ? deno && `Deno ${deno}` : `Bun ${bun}`
  return other ? `v${version}, as ${other} has it, on which Arbalest is not tested` : `v${version}`
}

function node(): Check {
  const check = { name: 'Node.js', detail: runtimeOf(process.versions) }
  return supportsNode(process.version)
    ? { ...check, status: 'present' }
    : { ...check, status: 'missing', fix: 'use version 20 from 20.19 on, or version 22.12 or newer' }
}

function processor(): Check {
  const cores = usableCores()
  const detail = `${processorName()}; ${cores} ${cores === 1 ? 'core' : 'cores'} usable; ${processorFeatures().join(' ') || 'no vector extensions'}`
  return { name: 'processor', status: 'present', detail }
}

const BEING_BUILT: Check = {
  name: 'native engine',
  status: 'missing',
  detail: 'a set-up is building it right now',
  fix: 'wait until that has ended'
}

function backends(): readonly Check[] {
  try {
    const origin: Check = { name: 'native engine', status: 'present', detail: engineOrigin() }
    // Its libraries are of two builds, or some of them are not there yet.
    if (buildState() === 'running') return [BEING_BUILT]
    return [origin, ...engine.describe().backends.map(backend)]
  } catch (error) {
    const state = buildState()
    if (state === 'running') return [BEING_BUILT]
    if (state === 'broken off')
      return [{ name: 'native engine', status: 'missing', detail: 'its build has not ended', fix: `${SET_UP}, which goes on with it` }]
    return [{ name: 'native engine', status: 'missing', detail: messageOf(error), fix: SET_UP }]
  }
}

function backend({ name, available, detail, precisions }: BackendDescription): Check {
  const check = { name: `backend ${name}`, detail: available ? `${detail}; ${precisions.join(', ')}` : detail }
  return available ? { ...check, status: 'present' } : { ...check, status: 'missing', fix: SET_UP }
}

/** The programs and libraries that build the engine; an engine that is built runs without them. */
function buildTools(): readonly Check[] {
  const tools: readonly (readonly [aptPackage: string, commands: readonly string[]])[] = [
    ['g++', ['g++']],
    ['cmake', ['cmake']],
    ['make', ['ninja', 'make']]
  ]
  const checks = tools.map(([aptPackage, commands]): Check => {
    for (const command of commands) {
      const version = firstLineOf(command, '--version')
      if (version !== undefined) return { name: command, status: 'present', detail: version }
    }
    return notInstalled(aptPackage, aptPackage)
  })
  return [...checks, oneDnn()]
}

function oneDnn(): Check {
  // The same folders as in scripts/setup, which also asks the compiler.
  const folders = ['/usr', '/usr/local', process.env['DNNL_ROOT'] ?? ''].map((folder) => join(folder, 'include'))
  const header = ['/usr/include/x86_64-linux-gnu', '/usr/include/aarch64-linux-gnu', ...folders]
    .map((folder) => join(folder, 'oneapi/dnnl/dnnl.hpp'))
    .find((file) => existsSync(file))
  return header === undefined ? notInstalled('oneDNN', 'libdnnl-dev') : { name: 'oneDNN', status: 'present', detail: header }
}

function notInstalled(name: string, aptPackage: string): Check {
  return { name, status: 'absent', detail: 'not installed; needed to build the engine', fix: `apt-get install ${aptPackage}` }
}

/** Whether backend `cuda` can train here: its library, the driver, and the devices with their free memory. The CPU backend needs none of it. */
function cuda(): readonly Check[] {
  const found = cudaReport()
  if (typeof found !== 'string') return cudaChecks(found, gpuCopies)
  const driver = driverVersion()
  const fix = { fix: 'run `npx arbalest setup --cuda`' }
  return [{ name: 'CUDA', status: 'absent', detail: `${driver ?? 'no NVIDIA driver'}; ${found}`, ...(driver !== undefined && fix) }]
}

/** `copies` is asked for where nothing is missing: what opens the backend may still say why it cannot be used. */
export function cudaChecks(found: CudaReport, copies: () => Check): readonly Check[] {
  const libraries = cudaLibraries(found)
  const devices = found.devices.map(cudaDevice)
  if (libraries.status !== 'present') return [libraries, ...devices]
  const moved = copies()
  if (moved.status === 'present') return [libraries, ...devices, moved]
  return [{ ...libraries, status: moved.status, detail: `${libraries.detail}; ${moved.detail}` }, ...devices]
}

function cudaReport(): CudaReport | string {
  try {
    return describeCuda()
  } catch {
    return 'the native engine is not built'
  }
}

function cudaLibraries({ versions, missing, devices }: CudaReport): Check {
  const found = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  const detail = [found.join(', '), ...Object.values(missing), ...(devices.length === 0 ? ['no GPU'] : [])].join('; ')
  const complete = devices.some(hasKernels) && ['driver', 'cuBLASLt', 'cuDNN'].every((name) => name in versions)
  return { name: 'CUDA', status: complete ? 'present' : 'absent', detail }
}

/** Whether it is of Ampere or later, for which our kernels are written. */
function hasKernels({ capability }: CudaDevice): boolean {
  return Number(capability) >= 8
}

function cudaDevice(device: CudaDevice, number: number): Check {
  const { name, capability, freeMemory } = device
  const check = { name: `GPU ${number}`, detail: `${name} (${capability}); ${bytes(freeMemory)} free of ${bytes(device.memory)}` }
  return hasKernels(device)
    ? { ...check, status: 'present' }
    : { ...check, status: 'absent', fix: 'use a GPU of compute capability 8.0 or higher: backend cuda has no code for this one' }
}

/** The driver as nvidia-smi reports it, or the path of its library; needed if our CUDA library is not there to ask. */
function driverVersion(): string | undefined {
  const gpu = firstLineOf('nvidia-smi', '--query-gpu=name,driver_version,memory.total', '--format=csv,noheader')
  if (gpu !== undefined) return gpu
  const files = ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map((triplet) => `/usr/lib/${triplet}/libcuda.so.1`)
  const file = files.find((path) => existsSync(path))
  return file && `${file}, but nvidia-smi does not answer`
}

/** The first line of a program's output, or undefined if it is not installed or fails. */
function firstLineOf(command: string, ...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8', timeout: 10_000 })
  return status === 0 ? stdout.split('\n')[0]?.trim() : undefined
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
