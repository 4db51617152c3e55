import { expect } from 'chai'
import { Admission } from '../../../src/run/memory/admission.js'
import { refused } from '../../support/codes.js'

const MiB = 2 ** 20

describe('the admission of jobs to a device', () => {
  it('lets jobs begin that fit together, once all have told their needs', async () => {
    const admission = new Admission(2)
    let first = false
    const one = admission.admit(0, { bytes: 60 * MiB, free: 100 * MiB }).then(() => (first = true))
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(first).to.equal(false)
    await admission.admit(1, { bytes: 40 * MiB, free: 90 * MiB })
    await one
    // As a job that begins again.
    await admission.admit(0, { bytes: 60 * MiB, free: 1 })
  })

  it('refuses jobs that do not, with the figures and the way out', async () => {
    const admission = new Admission(2)
    const all = [60, 41].map((mebibytes, job) => admission.admit(job, { bytes: mebibytes * MiB, free: 100 * MiB }))
    for (const each of all)
      await refused(
        'OUT_OF_MEMORY',
        () => each,
        'job 0 takes 60.0 MiB',
        'job 1 takes 41.0 MiB',
        'together 101.0 MiB',
        '100.0 MiB are free',
        '--device-memory',
        '50.0 MiB'
      )
  })

  it('waits for no job that has ended', async () => {
    const admission = new Admission(3)
    admission.leave(1)
    const one = admission.admit(0, { bytes: 60 * MiB, free: 100 * MiB })
    admission.leave(2)
    admission.leave(2)
    await one
  })
})
