import { expect } from 'chai'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { checkData } from '../../../src/data/datasets.js'
import { download } from '../../../src/data/remote/download.js'
import type { RemoteFile } from '../../../src/data/remote/sources.js'
import { untar } from '../../../src/data/remote/untar.js'
import { refused } from '../../support/codes.js'
import { Folder } from '../support/files.js'
import { dropping, FileServer, ignoringRanges, sending, type Answer } from '../support/file-server.js'

const BYTES = Uint8Array.from({ length: 300_000 }, (_, i) => (i * i) % 251)
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
const QUICK = { pause: 1, stall: 500 }

describe('download', () => {
  let folder: Folder
  let path: string
  beforeEach(async () => {
    folder = await Folder.make()
    path = join(folder.path, 'sub', 'file.bin')
  })
  afterEach(() => folder[Symbol.asyncDispose]())

  const remote = (...servers: FileServer[]): RemoteFile => ({
    name: 'file.bin',
    bytes: BYTES.length,
    sha256: sha256(BYTES),
    mirrors: servers.map(({ url }) => url),
    contents: []
  })
  const serving = (answer: Answer) => FileServer.with({ 'file.bin': answer })
  const expectWhole = () => {
    expect(sha256(readFileSync(path))).to.equal(sha256(BYTES))
    expect(existsSync(`${path}.part`)).to.equal(false)
  }

  it('fetches a file and tells how far it is', async () => {
    await using server = await serving(sending(BYTES))
    const told: number[] = []
    await download(remote(server), path, { onProgress: ({ bytes, of }) => told.push(bytes / of) })
    expectWhole()
    expect(told.at(-1)).to.equal(1)
    expect(told).to.deep.equal(told.toSorted((a, b) => a - b))
  })

  it('goes on after each broken connection, where it ended', async () => {
    await using server = await serving(dropping(BYTES, 70_000))
    await download(remote(server), path, QUICK)
    expectWhole()
    expect(server.asked).to.have.length.above(3)
    expect(server.asked[0]).to.equal(0)
    for (const [i, from] of server.asked.entries()) if (i > 0) expect(from).to.be.above(server.asked[i - 1]!)
  })

  it('goes on with what an earlier call has left, and with another mirror', async () => {
    await using first = await serving((response, request) =>
      request.count === 1 ? dropping(BYTES, 100_000)(response, request) : void response.writeHead(503).end()
    )
    await refused('DOWNLOAD_FAILED', () => download(remote(first), path, QUICK), 'file.bin', '503')
    const left = readFileSync(`${path}.part`).length
    expect(left).to.be.within(1, 100_000)
    expect(existsSync(path)).to.equal(false)
    await using second = await serving(sending(BYTES))
    await download(remote(first, second), path, QUICK)
    expectWhole()
    expect(second.asked).to.deep.equal([left])
  })

  it('begins anew where a server has no ranges', async () => {
    writeFileSync(join(folder.path, 'file.bin.part'), BYTES.subarray(0, 1000))
    path = join(folder.path, 'file.bin')
    await using server = await serving(ignoringRanges(BYTES))
    await download(remote(server), path, QUICK)
    expectWhole()
    expect(server.asked).to.deep.equal([1000])
  })

  it('throws a part of other bytes away and fetches the file again', async () => {
    path = join(folder.path, 'file.bin')
    writeFileSync(`${path}.part`, new Uint8Array(5000))
    await using server = await serving(sending(BYTES))
    await download(remote(server), path, QUICK)
    expectWhole()
    expect(server.asked).to.deep.equal([5000, 0])
  })

  it('takes the next mirror where one has other bytes, too many, too few, none, or stands still', async () => {
    const other = Uint8Array.from(BYTES, (byte, i) => (i === 7 ? byte ^ 1 : byte))
    const bad: Answer[] = [
      sending(other),
      (response) => void response.end(Buffer.concat([BYTES, BYTES])),
      (response) => void response.end(BYTES.subarray(0, 9)),
      (response) => void response.writeHead(404).end('<html>'),
      (response) => void response.write(BYTES.subarray(0, 100))
    ]
    for (const answer of bad) {
      path = join(folder.path, `${bad.indexOf(answer)}`, 'file.bin')
      await using first = await serving(answer)
      await using second = await serving(sending(BYTES))
      await download(remote(first, second), path, QUICK)
      expectWhole()
      expect(first.asked, String(bad.indexOf(answer))).to.not.deep.equal([])
    }
  })

  it('says what each mirror answered where none has the file, and where there is no network', async () => {
    await using wrong = await serving(sending(BYTES.map((byte) => byte ^ 1)))
    await using none = await serving((response) => void response.writeHead(404).end())
    const gone = await serving(sending(BYTES))
    const { url } = gone
    await gone[Symbol.asyncDispose]()
    const file = { ...remote(wrong, none), mirrors: [wrong.url, none.url, url] }
    const error = await refused('DOWNLOAD_FAILED', () => download(file, path, QUICK), 'SHA-256', '404', 'ECONNREFUSED', '--mirror')
    expect(error.data['failures']).to.have.length(3)
    expect(existsSync(path)).to.equal(false)
  })

  it('ends when it is told to, and goes on later', async () => {
    await using server = await serving((response) => void response.write(BYTES.subarray(0, 1000)))
    const stop = new AbortController()
    const ended = refused('ABORTED', () => download(remote(server), path, { signal: stop.signal, onProgress: () => stop.abort() }))
    await ended
    expect(readFileSync(`${path}.part`)).to.have.length(1000)
  })
})

describe('untar', () => {
  const header = (name: string, size: number, type = '0') => {
    const block = Buffer.alloc(512)
    block.write(name, 0)
    block.write(`${size.toString(8).padStart(11, '0')}\0`, 124)
    block.write(type, 156)
    return block
  }
  const entry = (name: string, bytes: Uint8Array) =>
    Buffer.concat([header(name, bytes.length), bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)])
  const end = Buffer.alloc(10_240)
  const [one, two] = [Buffer.from('one'), Buffer.alloc(2_500_000, 'two')]
  const members = [
    { name: 'one.bin', sha256: sha256(one) },
    { name: 'two.bin', sha256: sha256(two) }
  ]

  it('unpacks the files that are wanted, and no others', async () => {
    await using folder = await Folder.make()
    const parts = [
      header('set/', 0, '5'),
      entry('set/readme.html', Buffer.from('x')),
      entry('../../one.bin', one),
      entry('set/two.bin', two),
      end
    ]
    const archive = await folder.write('set.tar.gz', gzipSync(Buffer.concat(parts)))
    await untar(archive, members, folder.path)
    expect(readFileSync(join(folder.path, 'one.bin'))).to.deep.equal(one)
    expect(readFileSync(join(folder.path, 'two.bin')).equals(two)).to.equal(true)
    expect(existsSync(join(folder.path, 'readme.html'))).to.equal(false)
  })

  it('refuses an archive that is cut, lacks a file, or has another one', async () => {
    await using folder = await Folder.make()
    const whole = gzipSync(Buffer.concat([entry('one.bin', one), entry('two.bin', two), end]))
    const bad: [Buffer, string][] = [
      [whole.subarray(0, whole.length - 20), 'gzip'],
      [gzipSync(Buffer.concat([entry('one.bin', one), end])), 'two.bin'],
      [gzipSync(Buffer.concat([entry('one.bin', two), entry('two.bin', two), end])), 'one.bin: expected SHA-256'],
      [gzipSync(Buffer.from('no archive'.repeat(100))), 'header']
    ]
    for (const [bytes, words] of bad)
      await refused('DATA_CORRUPT', async () => untar(await folder.write('bad.tar.gz', bytes), members, folder.path), words)
  })
})

describe('checkData', () => {
  it('takes a list of names', async () => {
    await refused('INVALID_OPTION', () => checkData('mnist' as never), 'data: received "mnist"', 'a list of names')
  })
})
