import { spawn, spawnSync } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { train, type TrainOptions } from '../../../src/index.js'
import { DiskFolder } from '../../support/disk-folder.js'
import { FORGETFUL } from '../support/forgetful.js'
import { expectSameWeightsMoving, floorOf, moving } from '../support/limited-run.js'

const base = FORGETFUL

const CASES: Readonly<Record<string, Partial<TrainOptions>>> = {
  'several batches a step': { batch: 8, optimiser: { accumulate: 3 }, until: { steps: 2 } },
  'learners that wait for each other': { learners: 2, synchroniser: 'ssgd' }
}

describe('a folder to which values are moved', function () {
  this.timeout(300_000)

  for (const [name, options] of Object.entries(CASES))
    it(`lets a run train in less memory, with every bit of the weights the same: ${name}`, async () => {
      await using folder = await DiskFolder.make()
      await expectSameWeightsMoving({ ...base, ...options }, folder.path)
    })

  it('lets a run train in less memory than computing again does', async () => {
    await using folder = await DiskFolder.make()
    expect(await floorOf({ ...base, spill: folder.path })).to.be.below(await floorOf(base))
  })

  it('is left empty by a run that is stopped or killed while values are moved', async () => {
    await using folder = await DiskFolder.make()
    const limited = await moving({ ...base, until: { steps: 1e6 } }, folder.path)
    const job = train(limited)
    job.on('progress', () => job.stop())
    expect((await job.finished).reason).to.equal('stopped')
    expect(await readdir(folder.path)).to.deep.equal([])

    const child = run(['--steps', '100000', '--device-memory', await leastOf(folder.path), '--spill', folder.path])
    await new Promise((resolve) => child.stdout.once('data', resolve))
    setTimeout(() => child.kill('SIGKILL'), 500)
    await new Promise((resolve) => child.once('exit', resolve))
    expect(await readdir(folder.path)).to.deep.equal([])
  })

  it('on a disk that fails ends the run with one sentence', async () => {
    await using folder = await DiskFolder.make()
    const preload = join(folder.path, 'failing-disk.so')
    const source = join(folder.path, 'failing-disk.c')
    await writeFile(source, FAILING_DISK)
    const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-o', preload, source, '-ldl'], { encoding: 'utf8' })
    expect(status, stderr).to.equal(0)
    const data = join(folder.path, 'rhyme.txt')
    await writeFile(data, 'jack and jill went up the hill to fetch a pail of water. '.repeat(30))
    await using disk = await DiskFolder.make()
    const limits = { activations: await leastOf(disk.path), vectors: String(await floorOf(vectorsOf(data, disk.path))) }
    for (const [moved, args] of [
      ['activations', RUN],
      ['vectors', [...VECTORS_RUN, '--data', data]]
    ] as const)
      for (const [call, error, words] of [
        ['write', 28, 'cannot be written (No space left on device)'],
        ['read', 5, 'cannot be read (Input/output error)']
      ] as const) {
        const env = { LD_PRELOAD: preload, FAILING_CALL: call, FAILING_ERRNO: String(error) }
        const child = run(['--steps', '50', '--device-memory', limits[moved], '--spill', disk.path], env, args)
        const [said] = await Promise.all([textOf(child.stderr), textOf(child.stdout)])
        expect(child.exitCode ?? (await new Promise((resolve) => child.once('exit', resolve)))).to.equal(1)
        expect(said, moved).to.match(/^WRITE_FAILED: spill: [^\n]+\n$/)
        expect(said).to.include(`the file in ${disk.path} ${words}`)
        expect(await readdir(disk.path)).to.deep.equal([])
      }
  })
})

/** Reads or writes of files without a name fail after a while, like those of a disk. */
const FAILING_DISK = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int calls;

static int fails(int file, const char *call) {
  const char *chosen = getenv("FAILING_CALL");
  char path[64], name[4096];
  if (!chosen || strcmp(chosen, call) != 0) return 0;
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(path, name, sizeof name - 1);
  if (length < 10 || memcmp(name + length - 10, " (deleted)", 10) != 0) return 0;
  if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) <= 40) return 0;
  errno = atoi(getenv("FAILING_ERRNO"));
  return 1;
}

ssize_t pwrite64(int file, const void *from, size_t bytes, off64_t at) {
  static ssize_t (*real)(int, const void *, size_t, off64_t);
  if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
  return fails(file, "write") ? -1 : real(file, from, bytes, at);
}
ssize_t pwrite(int file, const void *from, size_t bytes, off_t at) { return pwrite64(file, from, bytes, at); }

ssize_t pread64(int file, void *to, size_t bytes, off64_t at) {
  static ssize_t (*real)(int, void *, size_t, off64_t);
  if (!real) real = dlsym(RTLD_NEXT, "pread64");
  return fails(file, "read") ? -1 : real(file, to, bytes, at);
}
ssize_t pread(int file, void *to, size_t bytes, off_t at) { return pread64(file, to, bytes, at); }
`

const RUN = ['--model', 'resnet20', '--data', 'digits', '--batch', '32', '--learners', '1', '--json']
const MAIN = fileURLToPath(new URL('../../../../bin/arbalest.js', import.meta.url))

/** Its vectors take more memory than its activations. */
const VECTORS_RUN = '--model gpt --layers 3 --width 128 --context 16 --batch 4 --optimiser adamw --learners 1 --json'.split(' ')
const vectorsOf = (data: string, spill: string): TrainOptions => ({
  model: 'gpt',
  size: { layers: 3, width: 128 },
  context: 16,
  data,
  batch: 4,
  optimiser: { name: 'adamw' },
  learners: 1,
  spill
})

function run(args: readonly string[], env: NodeJS.ProcessEnv = {}, usual: readonly string[] = RUN) {
  return spawn(process.execPath, [MAIN, 'train', ...usual, ...args], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
}

async function leastOf(spill: string): Promise<string> {
  return String(await floorOf({ model: 'resnet20', data: 'digits', batch: 32, learners: 1, spill }))
}
