import { closeSync, openSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { createCRC32 } from 'hash-wasm'
import protobuf from 'protobufjs/light.js'
import { makeFolder } from '../formats/write-file.js'
import type { JobEvent } from './events.js'
import type { RunRecord } from './records.js'

/** The messages of TensorFlow's event.proto and summary.proto that a curve needs, with the field numbers given there. */
const { Event } = protobuf.Root.fromJSON({
  nested: {
    Value: { fields: { tag: { type: 'string', id: 1 }, simpleValue: { type: 'float', id: 2 } } },
    Summary: { fields: { value: { type: 'Value', id: 1, rule: 'repeated' } } },
    Event: {
      fields: {
        wallTime: { type: 'double', id: 1 },
        step: { type: 'int64', id: 2 },
        fileVersion: { type: 'string', id: 3 },
        summary: { type: 'Summary', id: 5 }
      }
    }
  }
}).nested as { Event: protobuf.Type }

/** CRC-32C (Castagnoli), bits reversed. */
const CASTAGNOLI = 0x82f63b78

type Checksum = (bytes: Uint8Array) => number

/**
 * A run's curves as TensorBoard reads them: a file of records (TFRecord), each of them its length, the length's checksum, an Event and the
 * Event's checksum. Steps are iterations.
 */
export class TensorBoardFile implements RunRecord {
  readonly #file: number
  readonly #checksum: Checksum

  private constructor(file: number, checksum: Checksum) {
    this.#file = file
    this.#checksum = checksum
  }

  /** In folder `DIR/RUN`, which is made. `seconds` since 1970 are those of the file's name. */
  static async open(directory: string, run: string, seconds: number): Promise<TensorBoardFile> {
    const crc = await createCRC32(CASTAGNOLI)
    const checksum: Checksum = (bytes) => {
      const digest = crc.init().update(bytes).digest('binary')
      return new DataView(digest.buffer, digest.byteOffset).getUint32(0)
    }
    const folder = join(directory, run)
    makeFolder(folder)
    const file = openSync(join(folder, `events.out.tfevents.${Math.floor(seconds)}.${hostname()}.${process.pid}`), 'a')
    const opened = new TensorBoardFile(file, checksum)
    try {
      opened.#record({ wallTime: seconds, fileVersion: 'brain.Event:2' })
    } catch (error) {
      closeSync(file)
      throw error
    }
    return opened
  }

  write(event: JobEvent | { readonly event: 'run' | 'failed' }, seconds: number): void {
    if (!('iteration' in event)) return
    const value = Object.entries(curvesOf(event)).map(([tag, simpleValue]) => ({ tag, simpleValue }))
    if (value.length > 0) this.#record({ wallTime: seconds, step: event.iteration, summary: { value } })
  }

  close(): void {
    closeSync(this.#file)
  }

  #record(event: object): void {
    const data = Event.encode(Event.create(event)).finish()
    const record = Buffer.alloc(8 + 4 + data.length + 4)
    record.writeBigUInt64LE(BigInt(data.length))
    record.writeUInt32LE(masked(this.#checksum(record.subarray(0, 8))), 8)
    record.set(data, 12)
    record.writeUInt32LE(masked(this.#checksum(data)), 12 + data.length)
    writeSync(this.#file, record)
  }
}

function curvesOf(event: JobEvent): Readonly<Record<string, number>> {
  switch (event.event) {
    case 'progress': {
      const { loss, learningRate, imagesPerSecond, learners, epoch } = event
      return {
        'train/loss': loss,
        'train/learning_rate': learningRate,
        'train/images_per_second': imagesPerSecond,
        'train/learners': learners,
        epoch
      }
    }
    case 'evaluated': {
      const { testLoss, testAccuracy } = event
      return { 'test/loss': testLoss, ...(testAccuracy !== null && { 'test/accuracy': testAccuracy }) }
    }
    default:
      return {}
  }
}

/** TFRecord's checksums of checksums would be weak: they are turned by 15 bits and shifted. */
function masked(checksum: number): number {
  return (((checksum >>> 15) | (checksum << 17)) + 0xa282ead8) >>> 0
}
