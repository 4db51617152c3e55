import { spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../../support/arbalest.js'

/** A copy of the package without an engine, for which MPI seems to be built or is not. */
export class PackageCopy {
  readonly folder = mkdtempSync(join(tmpdir(), 'arbalest launch '))

  constructor() {
    for (const part of ['bin', 'dist/src', 'package.json']) cpSync(join(ROOT, part), join(this.folder, part), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(this.folder, 'node_modules'))
  }

  remove(): void {
    rmSync(this.folder, { recursive: true })
  }

  file(name: string, content: string): string {
    writeFileSync(join(this.folder, name), content)
    return join(this.folder, name)
  }

  /** A program that answers to `--version` with this line, and does nothing else but what this shell script does. */
  program(name: string, version: string, script = ''): string {
    const path = this.file(name, `#!/bin/sh\necho '${version}'\n${script}\n`)
    chmodSync(path, 0o755)
    return path
  }

  /** As scripts/build-mpi.js leaves it, with a compiler in the folder of the package. */
  buildMpi(name: string, version: string): void {
    const place = join(this.folder, 'native/build/Release')
    mkdirSync(place, { recursive: true })
    writeFileSync(join(place, 'libarbalest-mpi.json'), JSON.stringify({ name, version, mpicc: join(this.folder, 'mpicc') }))
  }

  launch(args: readonly string[], env: Readonly<Record<string, string>> = {}): SpawnSyncReturns<string> {
    const clean = Object.fromEntries(Object.entries(process.env).filter(([key]) => !/^(?:SLURM_|OMPI_|PMI|NODE_OPTIONS$)/.test(key)))
    return spawnSync(process.execPath, [join(this.folder, 'bin/arbalest.js'), 'launch', ...args], {
      encoding: 'utf8',
      cwd: this.folder,
      env: { ...clean, NO_COLOR: '1', ...env }
    })
  }
}
