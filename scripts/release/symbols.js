import { run } from './run.js'

/** The newest versions of symbols in the libraries of Debian 12, Ubuntu 22.04 and RHEL 9, all of which have at least these. */
export const SYSTEM_VERSIONS = { GLIBC: '2.34', GLIBCXX: '3.4.29', CXXABI: '1.3.13' }

/** What every such system has. */
const SYSTEM_LIBRARIES = /^(?:ld-linux-[\w-]+|lib(?:c|m|dl|rt|pthread|stdc\+\+|gcc_s))\.so\.\d+$/

/** The libraries of other projects that a file is linked with, `{ name, path }`; no path where it is not found. */
export function foreignLibraries(file) {
  return run('ldd', [file])
    .split('\n')
    .map((line) => /^\s*(\S+) => (?:(\/\S+) \(|not found)/.exec(line))
    .filter((match) => match !== null && !SYSTEM_LIBRARIES.test(match[1]))
    .map(([, name, path]) => ({ name, path }))
}

/** A line for each symbol that a file asks of the system in a newer version than these. */
export function newerSymbols(file, versions = SYSTEM_VERSIONS) {
  const asked = run('objdump', ['--dynamic-syms', file]).matchAll(/\*UND\*.*\((GLIBC|GLIBCXX|CXXABI)_([\d.]+)\)\s+(\S+)/g)
  return [...asked]
    .filter(([, library, version]) => isNewer(version, versions[library]))
    .map(([, library, version, symbol]) => `${symbol} of ${library}_${version}`)
}

function isNewer(version, limit) {
  const [left, right] = [version, limit].map((text) => text.split('.').map(Number))
  const differs = left.findIndex((part, i) => part !== (right[i] ?? 0))
  return differs !== -1 && left[differs] > (right[differs] ?? 0)
}
