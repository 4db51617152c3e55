import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Side, type Command } from '../side.js'

/** A process that answers every window with `work` in one second, and then spins: what a thread pool may do between two windows. */
function spinner(work: number): Command {
  const script = `
    console.log(JSON.stringify({ ready: true, pid: process.pid }))
    process.stdin.on('data', (data) => {
      for (const _ of String(data).trim().split('\\n')) console.log(JSON.stringify({ work: ${work}, seconds: 1 }))
      setImmediate(function spin() { const end = Date.now() + 20; while (Date.now() < end); setImmediate(spin) })
    })`
  return { program: process.execPath, args: ['-e', script] }
}

/** Processor time of a process so far, in clock ticks. */
function ticks(pid: unknown): number {
  const fields = readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return Number(fields[11]) + Number(fields[12])
}

describe('Side', function () {
  this.timeout(20_000)

  it('adds up the rates of its processes', async () => {
    const side = await Side.start([spinner(3), spinner(4)])
    try {
      expect(await side.run(0.1)).to.equal(7)
      expect(await side.run(0.1)).to.equal(7)
    } finally {
      side.close()
    }
  })

  it('takes no processor time between two windows', async () => {
    const side = await Side.start([spinner(1)])
    try {
      await side.run(0.1)
      await sleep(50)
      const before = ticks(side.greeting['pid'])
      await sleep(300)
      expect(ticks(side.greeting['pid'])).to.equal(before)
    } finally {
      side.close()
    }
  })

  it('tells the last words of a process that ends before it is ready', async () => {
    const failed = Side.start([{ program: process.execPath, args: ['-e', 'throw new RangeError("no such model")'] }])
    const error = await failed.then(
      () => undefined,
      (reason: unknown) => reason
    )
    expect(error).to.have.property('code', 'ACTOR_GONE')
    expect(error).to.have.property('message').that.includes('no such model')
  })

  it('says which program is missing', async () => {
    const error = await Side.start([{ program: '/no/such/python', args: [] }]).then(
      () => undefined,
      (reason: unknown) => reason
    )
    expect(error).to.have.property('message').that.includes('/no/such/python')
  })
})
