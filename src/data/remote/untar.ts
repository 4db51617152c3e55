import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'
import { corruptFile } from '../../formats/file-errors.js'
import { replaceFile, writeAll } from '../../formats/write-file.js'
import { ByteReader } from '../compressed-file.js'
import type { KnownFile } from './sources.js'

const BLOCK = 512
/** Bytes that are copied at a time. */
const CHUNK = 2 ** 20

/**
 * Unpacks some files of a .tar.gz into a folder, without the folders that they have in it; a file is there only when its SHA-256 is right. Other members are skipped. Throws DATA_CORRUPT,
 * WRITE_FAILED.
 */
export async function untar(archive: string, members: readonly KnownFile[], folder: string): Promise<void> {
  const missing = new Map(members.map((member) => [member.name, member]))
  await ByteReader.readAll(archive, async (reader) => {
    for (;;) {
      const header = await reader.take(BLOCK, 'a header')
      if (header.every((byte) => byte === 0)) break
      const size = octal(header, 124, 12)
      if (size === undefined) throw corruptFile(archive, { expected: 'a size in the header of a file', found: 'other bytes' })
      const name = basename(textIn(header, 0, 100))
      const isFile = header[156] === 0 || header[156] === 0x30
      const member = isFile ? missing.get(name) : undefined
      if (member) {
        await copy(reader, size, { archive, member, path: join(folder, name) })
        missing.delete(name)
      } else await skip(reader, size)
      await skip(reader, (BLOCK - (size % BLOCK)) % BLOCK)
    }
    await reader.skipRest()
  })
  const [first] = missing.keys()
  if (first !== undefined) throw corruptFile(archive, { expected: `a file ${first}`, found: 'none' })
}

async function copy(
  reader: ByteReader,
  size: number,
  { archive, member, path }: { readonly archive: string; readonly member: KnownFile; readonly path: string }
): Promise<void> {
  await replaceFile(path, { sync: true, bytes: size }, async (handle) => {
    const hash = createHash('sha256')
    for (let left = size; left > 0; left -= CHUNK) {
      const bytes = await reader.take(Math.min(left, CHUNK), member.name)
      hash.update(bytes)
      await writeAll(handle, bytes)
    }
    const sum = hash.digest('hex')
    if (sum !== member.sha256) throw corruptFile(archive, { where: member.name, expected: `SHA-256 ${member.sha256}`, found: sum })
  })
}

async function skip(reader: ByteReader, count: number): Promise<void> {
  for (let left = count; left > 0; left -= CHUNK) await reader.take(Math.min(left, CHUNK), 'a file')
}

function octal(header: Uint8Array, at: number, length: number): number | undefined {
  const text = textIn(header, at, length).trim()
  return /^[0-7]+$/.test(text) ? Number.parseInt(text, 8) : undefined
}

function textIn(header: Uint8Array, at: number, length: number): string {
  const bytes = header.subarray(at, at + length)
  const end = bytes.indexOf(0)
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end))
}
