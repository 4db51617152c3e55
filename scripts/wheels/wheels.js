import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Tags that any Python must accept: the wheels are unpacked and never imported. */
const PLATFORM = [28, 27, 17, 12].flatMap((minor) => ['--platform', `manylinux_2_${minor}_x86_64`])
const ANY_PYTHON = ['--python-version', '3.12', '--implementation', 'cp', '--only-binary=:all:', '--no-deps', ...PLATFORM]

const UNPACK = fileURLToPath(new URL('./unpack-wheel.py', import.meta.url))

/**
 * Unpacks wheels of PyPI, each pinned by version and hash, into `folder`. Each is unpacked by itself, so that an interrupted set-up continues where it
 * stopped. `source` is a folder that has the wheels, for a machine without a network. Returns the reason if one is not available; undefined if all are
 * there.
 */
export function unpackWheels(wheels, { folder, source, headersOnly = false, say }) {
  mkdirSync(join(folder, 'wheels'), { recursive: true })
  for (const wheel of wheels) {
    const { name, version } = wheel
    const whole = join(folder, `${name}-${version}.whole`)
    const headers = join(folder, `${name}-${version}.headers`)
    if (existsSync(whole) || (headersOnly && existsSync(headers))) continue
    const began = performance.now()
    const file = download(wheel, { folder: join(folder, 'wheels'), source, say })
    if (!file) return `${name} ${version} is not available`
    const { status, stderr } = spawnSync('python3', [UNPACK, file, folder, ...(headersOnly ? ['--headers'] : [])], { encoding: 'utf8' })
    if (status !== 0) return `${name} could not be unpacked: ${stderr.trim().split('\n').at(-1)}`
    writeFileSync(headersOnly ? headers : whole, '')
    rmSync(file)
    say(`${name} ${version} ... done in ${Math.round((performance.now() - began) / 1000)}s`)
  }
  return undefined
}

/** The wheel's file, whose hash pip has checked; undefined if there is none. */
function download({ name, version, sha256 }, { folder, source, say }) {
  const requirement = join(folder, `${name}.txt`)
  writeFileSync(requirement, `${name}==${version} --hash=sha256:${sha256}\n`)
  const from = source === undefined ? [] : ['--no-index', '--find-links', resolve(source)]
  const { status, stderr, error } = spawnSync(
    'python3',
    ['-m', 'pip', 'download', '--quiet', '--require-hashes', ...ANY_PYTHON, ...from, '--dest', folder, '--requirement', requirement],
    { encoding: 'utf8' }
  )
  rmSync(requirement)
  if (status !== 0) {
    say(error ? 'python3 is missing' : reasonOf(stderr ?? '', status))
    return undefined
  }
  const prefix = `${name.replaceAll('-', '_')}-${version}-`
  const file = readdirSync(folder).find((each) => each.toLowerCase().startsWith(prefix))
  return file && join(folder, file)
}

function reasonOf(stderr, status) {
  const lines = stderr.trim().split('\n')
  return lines.findLast((line) => line.startsWith('ERROR')) ?? `status ${status}`
}
