import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { Laboratory } from '../hosts/laboratory.js'
import type { Command } from '../side.js'

const MBIT = 200
const BYTES = 4_000_000

/** A node program on a host. */
function node(script: string): Command {
  return { program: process.execPath, args: ['-e', script] }
}

function run(command: Command): Promise<string> {
  return promisify(execFile)(command.program, command.args, { timeout: 20_000 }).then(({ stdout }) => stdout.trim())
}

/** When a transfer began and ended, in seconds of the machine's clock. */
interface Transfer {
  readonly began: number
  readonly ended: number
}

/** The seconds from the first beginning to the last end. */
function span(transfers: readonly Transfer[]): number {
  return Math.max(...transfers.map(({ ended }) => ended)) - Math.min(...transfers.map(({ began }) => began))
}

/** Sends BYTES from one host to another. */
async function sent(laboratory: Laboratory, from: number, to: number): Promise<Transfer> {
  const serve = `require('net').createServer(c => { let n = 0; c.on('data', b => n += b.length); c.on('end', () => { console.log(n); process.exit() }) }).listen(5000)`
  const received = run(laboratory.onHost(to, node(serve)))
  // Tries again until the other one listens.
  const send = `const now = () => (performance.timeOrigin + performance.now()) / 1000; const at = () => { const s = require('net').connect(5000, '${laboratory.address(to)}', () => { const began = now(); s.end(Buffer.alloc(${BYTES})); s.on('close', () => console.log(JSON.stringify({ began, ended: now() }))) }).on('error', () => setTimeout(at, 50)) }; at()`
  const transfer = JSON.parse(await run(laboratory.onHost(from, node(send)))) as Transfer
  expect(Number(await received)).to.equal(BYTES)
  return transfer
}

function interfaces(): readonly string[] {
  return readdirSync('/sys/class/net').toSorted()
}

/** The processes whose command lines have a word. */
function processesWith(word: string): readonly string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word)
    } catch {
      return false
    }
  })
}

describe('laboratory', function () {
  this.timeout(60_000)

  before(async function () {
    const reason = await Laboratory.reasonAgainst()
    if (reason === undefined) return
    const suite: (Mocha.Runnable & { skipReason?: string }) | undefined = this.test
    if (suite) suite.skipReason = reason
    this.skip()
  })

  it('shapes the links between hosts, which count what they carry', async () => {
    await using laboratory = await Laboratory.open(2, MBIT)
    const seconds = span([await sent(laboratory, 0, 1)])
    // A burst passes at once.
    const least = ((BYTES - 128 * 1024) * 8) / (MBIT * 1e6)
    expect(seconds).at.least(least)
    const [first, second] = await laboratory.bytes()
    expect(first!.sent / BYTES).within(1, 1.05)
    expect(second!.received / BYTES).within(1, 1.05)
  })

  it('has racks, whose hosts share a link to the others', async () => {
    await using laboratory = await Laboratory.open(4, MBIT, { perRack: 2, acrossMbit: MBIT / 4 })
    const least = (rate: number) => ((BYTES - 128 * 1024) * 8) / (rate * 1e6)
    expect(span([await sent(laboratory, 0, 1)])).below(least(MBIT / 4))
    const across = await Promise.all([sent(laboratory, 0, 2), sent(laboratory, 1, 3)])
    // Both together have a quarter of the rate of one host. They do not begin at the same moment: each alone may take less.
    expect(span(across)).at.least(2 * least(MBIT / 4) - (128 * 1024 * 8) / ((MBIT * 1e6) / 4))
  })

  it('changes no interface of the machine, and ends what runs in it', async () => {
    const before = interfaces()
    const laboratory = await Laboratory.open(2)
    expect(interfaces()).to.deep.equal(before)
    const word = `laboratory-of-${process.pid}`
    const ended = run(laboratory.onHost(1, { program: 'sh', args: ['-c', 'sleep 1000; :', word] })).catch(() => 'killed')
    while (processesWith(word).length < 2) await sleep(20)
    await laboratory.close()
    expect(await ended).to.equal('killed')
    expect(processesWith(word)).to.deep.equal([])
    await laboratory.close()
  })

  it('is gone when the process that opened it is killed', async () => {
    const word = `laboratory-left-by-${process.pid}`
    const module = new URL('../hosts/laboratory.js', import.meta.url).href
    const script = `
      import { spawn } from 'node:child_process'
      import { Laboratory } from ${JSON.stringify(module)}
      const laboratory = await Laboratory.open(2, 100)
      const { program, args } = laboratory.onHost(0, { program: 'sh', args: ['-c', 'echo up; sleep 1000; :', ${JSON.stringify(word)}] })
      spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(createInterface({ input: child.stdout }), 'line')
    child.kill('SIGKILL')
    const latest = performance.now() + 10_000
    const left = () => processesWith(`-c\0echo up; sleep 1000; :\0${word}`)
    while (left().length > 0 && performance.now() < latest) await sleep(20)
    expect(left()).to.deep.equal([])
  })

  it('says why it cannot be made', async () => {
    const error = await Laboratory.open(1, 0).catch((reason: unknown) => reason)
    expect(error).to.have.property('code', 'BACKEND_UNAVAILABLE')
    expect(String(error)).to.match(/rate.*iproute2/)
  })
})
