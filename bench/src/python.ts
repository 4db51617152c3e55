import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ArbalestError } from './errors.js'

export interface Python {
  readonly program: string
  readonly torch: string
}

/** The Python of `peers/setup`. */
export const venvPython = fileURLToPath(new URL('../peers/.venv/bin/python', import.meta.url))

/** Allocators that are fast for PyTorch, which allocates and frees the same buffers in every step; the fastest first. */
const ALLOCATORS = ['libtcmalloc_minimal.so.4', 'libtcmalloc.so.4', 'libjemalloc.so.2']
const LIBRARIES = ['/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64', '/usr/lib']

/**
 * Every Python with PyTorch: `ARBALEST_PYTHON` alone if it is set, otherwise that of `peers/setup`, the one in PATH and Debian's, each once and in this order.
 * Throws BACKEND_UNAVAILABLE if there is none.
 */
export async function pythonsWithTorch(): Promise<readonly Python[]> {
  const chosen = process.env['ARBALEST_PYTHON']
  const candidates = chosen === undefined || chosen === '' ? [venvPython, 'python3', '/usr/bin/python3'] : [chosen]
  const found = new Map<string, Python>()
  for (const program of candidates) {
    try {
      const script = 'import torch; print(torch.__version__, torch.__file__)'
      const { stdout } = await promisify(execFile)(program, ['-c', script])
      const [torch, file] = stdout.trim().split(' ')
      if (torch !== undefined && file !== undefined && !found.has(file)) found.set(file, { program, torch })
    } catch {
      // This Python has no PyTorch; the next one may.
    }
  }
  if (found.size === 0) {
    throw new ArbalestError(
      'BACKEND_UNAVAILABLE',
      `PyTorch: received ${candidates.join(', ')}, none of which can import torch; ` +
        'run bench/peers/setup, or name a Python that has it in ARBALEST_PYTHON'
    )
  }
  return [...found.values()]
}

/**
 * The fastest environment for PyTorch on few cores: one OpenMP pool with `threads` threads, and an allocator that keeps freed memory.
 */
export function tunedEnvironment(threads: number): Record<string, string> {
  const allocator = LIBRARIES.flatMap((folder) => ALLOCATORS.map((name) => `${folder}/${name}`)).find((path) => existsSync(path))
  return {
    OMP_NUM_THREADS: String(threads),
    OPENBLAS_NUM_THREADS: String(threads),
    MKL_NUM_THREADS: String(threads),
    ...(allocator === undefined ? {} : { LD_PRELOAD: allocator })
  }
}
