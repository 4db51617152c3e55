import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** What `npm run setup:cuda` fills. */
export const CUDA_FOLDER = join(ROOT, '.cuda')

/** The oldest release that the sources are written for: the driver's entry points and the thread-local capture that they use are all in it. */
const OLDEST = [13, 0]

/** Headers that a build includes, by what they belong to. */
const HEADERS = {
  'CUDA runtime': 'cuda_runtime.h',
  cuBLASLt: 'cublasLt.h',
  cuDNN: 'cudnn.h',
  'cuDNN frontend': 'cudnn_frontend.h',
  NCCL: 'nccl.h',
  NVRTC: 'nvrtc.h'
}

/**
 * The compiler and the folders of headers: those of CUDA_HOME, of `.cuda`, of the nvcc on the PATH, of /usr/local/cuda, in this order; headers
 * that are not there are looked for in ARBALEST_CUDA_PATH, `.cuda` and beside python3's packages.
 * `missing` names what is not to be had; nothing is thrown.
 */
export function findToolkit() {
  const roots = [process.env.CUDA_HOME, join(CUDA_FOLDER, 'nvidia', 'cu13'), rootOnPath(), '/usr/local/cuda']
  const tooOld = []
  for (const root of roots) {
    if (!root || !existsSync(join(root, 'bin', 'nvcc'))) continue
    const version = versionOf(join(root, 'bin', 'nvcc'))
    if (!version || version[0] < OLDEST[0]) {
      tooOld.push(`${root}: CUDA ${version?.join('.') ?? 'of no version'}; use ${OLDEST.join('.')} or newer`)
      continue
    }
    return withHeaders({ root, nvcc: join(root, 'bin', 'nvcc'), version: version.join('.') })
  }
  return { missing: [`nvcc${tooOld.length > 0 ? ` (${tooOld.join('; ')})` : ''}`, ...Object.keys(HEADERS)], includes: [] }
}

function withHeaders(toolkit) {
  const folders = [join(toolkit.root, 'include'), ...packageFolders().flatMap(includesBelow)]
  const missing = []
  const includes = new Set()
  for (const [what, header] of Object.entries(HEADERS)) {
    const folder = folders.find((each) => existsSync(join(each, header)))
    if (folder) includes.add(folder)
    else missing.push(`${what} (${header})`)
  }
  return { ...toolkit, missing, includes: [...includes] }
}

/** Folders that are laid out as NVIDIA's wheels: `nvidia/cu13`, `nvidia/cudnn`, `nvidia/nccl` below them. */
export function packageFolders() {
  const given = (process.env.ARBALEST_CUDA_PATH ?? '').split(delimiter).filter(Boolean)
  return [...given, CUDA_FOLDER, ...pythonFolders()]
}

function includesBelow(folder) {
  return ['include', 'nvidia/cu13/include', 'nvidia/cudnn/include', 'nvidia/nccl/include'].map((each) => join(folder, each))
}

function pythonFolders() {
  const script = 'import site, sys; print("\\n".join(p for p in sys.path if p.endswith("-packages")))'
  const { status, stdout } = spawnSync('python3', ['-c', script], { encoding: 'utf8' })
  return status === 0 ? stdout.split('\n').filter(Boolean) : []
}

function rootOnPath() {
  const folder = (process.env.PATH ?? '').split(delimiter).find((each) => each && existsSync(join(each, 'nvcc')))
  return folder && dirname(folder)
}

function versionOf(nvcc) {
  const { stdout } = spawnSync(nvcc, ['--version'], { encoding: 'utf8' })
  return /release (\d+)\.(\d+)/
    .exec(stdout ?? '')
    ?.slice(1, 3)
    .map(Number)
}

/** The wheels, each with its version and its hash. */
export function wheels() {
  return JSON.parse(readFileSync(new URL('./wheels.json', import.meta.url), 'utf8'))
}
