import { expect } from 'chai'
import type { Handle } from '../../../src/engine/contract.js'
import { engine as native } from '../../../src/engine/native.js'
import { datasetFromArrays, train, type TrainOptions } from '../../../src/index.js'
import { Admission, type JobMemory } from '../../../src/run/memory/admission.js'
import { trainWith } from '../../../src/run/train.js'
import { machine } from '../../fakes/limited-memory-engine.js'
import { refused } from '../../support/codes.js'

const MiB = 2 ** 20
const ENGINE = new URL('../../fakes/limited-memory-engine.js', import.meta.url)
const ARENAS = 7 as Handle

/** Bytes, in mebibytes. */
function memory(persistent: number, arenas: readonly number[], free: number, sharesArenas = true): JobMemory {
  return { persistent: persistent * MiB, arenas: arenas.map((each) => each * MiB), sharesArenas, free: free * MiB }
}

/** The admission of so many jobs, and the sizes of the arenas that it makes, in mebibytes. */
function admissionOf(jobs: number) {
  const made: (readonly number[])[] = []
  const admission = new Admission(jobs, (sizes) => {
    made.push(sizes.map((bytes) => bytes / MiB))
    return ARENAS
  })
  return { admission, made }
}

describe('the admission of jobs to a device', () => {
  it('lets jobs begin that fit together, once all have told their needs, with arenas of their own', async () => {
    const { admission, made } = admissionOf(2)
    let first = false
    const one = admission.admit(0, memory(40, [10, 10], 100)).then((arenas) => {
      first = true
      return arenas
    })
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(first).to.equal(false)
    expect(await admission.admit(1, memory(30, [10], 90))).to.equal(undefined)
    expect(await one).to.equal(undefined)
    // As a job that begins again.
    await admission.admit(0, memory(40, [10, 10], 1))
    expect(made).to.deep.equal([])
  })

  it('gives jobs that do not fit so the largest arenas of one, in which all compute', async () => {
    const { admission, made } = admissionOf(3)
    const jobs = [memory(20, [20, 20], 100), memory(20, [30], 100), memory(5, [1, 1, 1], 100, false)]
    const all = jobs.map((each, job) => admission.admit(job, each))
    expect(await Promise.all(all)).to.deep.equal([ARENAS, ARENAS, undefined])
    // One ends, and another one begins again.
    admission.leave(2)
    expect(await admission.admit(0, jobs[0]!)).to.equal(ARENAS)
    expect(made).to.deep.equal([[30, 20]])
  })

  it('counts no job that was stopped while it waited for the others', async () => {
    const { admission, made } = admissionOf(3)
    const stopped = admission.admit(0, memory(60, [10], 100))
    admission.leave(0)
    const all = [1, 2].map((job) => admission.admit(job, memory(30, [10], 100)))
    expect(await Promise.all([stopped, ...all])).to.deep.equal([undefined, undefined, undefined])
    expect(made).to.deep.equal([])
  })

  it('refuses all jobs where the arenas cannot be made', async () => {
    const admission = new Admission(2, () => {
      throw new RangeError('no such arenas')
    })
    const all = [0, 1].map((job) => admission.admit(job, memory(20, [30, 30], 100)))
    for (const outcome of await Promise.allSettled(all)) expect(outcome).to.have.nested.property('reason.message', 'no such arenas')
  })

  it('refuses jobs that do not fit even so, with the figures and the way out', async () => {
    const { admission, made } = admissionOf(2)
    const all = [memory(40, [10, 10], 100.08), memory(45, [8, 8], 100.08)].map((each, job) => admission.admit(job, each))
    for (const each of all)
      await refused(
        'OUT_OF_MEMORY',
        () => each,
        'job 0 holds 40.0 MiB and computes in 20.0 MiB',
        'job 1 holds 45.0 MiB and computes in 16.0 MiB',
        'together they take 105.0 MiB where 100.1 MiB are free',
        '--device-memory',
        '55.0 MiB for job 0 and 60.0 MiB for job 1'
      )
    expect(made).to.deep.equal([])
    // Within these limits they fit.
    const { admission: limited } = admissionOf(2)
    await Promise.all([memory(40, [7.5, 7.5], 100), memory(45, [7.5, 7.5], 100)].map((each, job) => limited.admit(job, each)))

    const { admission: apart } = admissionOf(2)
    const held = [60, 60].map((each, job) => apart.admit(job, memory(each, [1], 100)))
    for (const each of held)
      await refused('OUT_OF_MEMORY', () => each, 'where 100.0 MiB are free; run one after the other, or with smaller batches')
  })

  it('waits for no job that has ended', async () => {
    const { admission } = admissionOf(3)
    admission.leave(1)
    const one = admission.admit(0, memory(60, [], 100))
    admission.leave(2)
    admission.leave(2)
    await one
  })

  it('trains jobs in the same arenas to the weights that they have alone', async () => {
    const data = datasetFromArrays({
      samples: Float32Array.from({ length: 256 * 64 }, (_, i) => Math.sin(i * i)),
      labels: Int32Array.from({ length: 256 }, (_, i) => i % 10),
      sample: [1, 8, 8],
      classes: 10
    })
    const jobs: readonly TrainOptions[] = [
      { model: 'mlp', data, batch: 64, learners: 2, until: { steps: 60 }, seed: 1 },
      { model: 'mlp', data, batch: 48, learners: 2, until: { steps: 60 }, seed: 2, synchroniser: 'ssgd' }
    ]
    const told: JobMemory[] = []
    class Watched extends Admission {
      override admit(job: number, its: JobMemory): Promise<Handle | undefined> {
        told[job] = its
        return super.admit(job, its)
      }
    }
    const together = async (): Promise<{ readonly made: number; readonly hashes: readonly string[] }> => {
      let made = 0
      const handles: Handle[] = []
      const admission = new Watched(2, (sizes) => {
        made++
        handles.push(native.createArenas({ backend: 'cpu', sizes }))
        return handles[0]!
      })
      const lease = native.createLease({ shares: [1, 1] })
      const all = jobs.map((options, job) => trainWith(options, { engine: ENGINE, shared: { lease, job, admission } }))
      const hashes = await Promise.all(all.map(async (job) => (await job.finished).weightsSha256))
      for (const handle of [...handles, lease]) native.release(handle)
      return { made, hashes }
    }
    const alone = await Promise.all(jobs.map(async (options) => (await train(options).finished).weightsSha256))
    machine.freeMemory = 2 ** 40
    expect(await together()).to.deep.equal({ made: 0, hashes: alone })
    const sum = (values: readonly number[]) => values.reduce((total, each) => total + each, 0)
    machine.freeMemory = sum(told.map(({ persistent }) => persistent)) + Math.max(...told.map(({ arenas }) => sum(arenas)))
    expect(await together()).to.deep.equal({ made: 1, hashes: alone })
    machine.freeMemory--
    await refused('OUT_OF_MEMORY', together, 'job 0 holds', 'together they take')
  })
})
