import { closeSync, openSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { createCRC32 } from 'hash-wasm'
import protobuf from 'protobufjs/light.js'
import { unwritableFile } from '../formats/file-errors.js'
import { appendAll, makeFolder } from '../formats/write-file.js'
import type { JobEvent, RecordedEvent } from './events.js'
import type { EventSink } from './sinks.js'
import { WayBack } from './way-back.js'

/** The messages of TensorFlow's event.proto and summary.proto that curves need, with their field numbers. */
const { Event } = protobuf.Root.fromJSON({
  nested: {
    Value: { fields: { tag: { type: 'string', id: 1 }, simpleValue: { type: 'float', id: 2 } } },
    Summary: { fields: { value: { type: 'Value', id: 1, rule: 'repeated' } } },
    SessionLog: { fields: { status: { type: 'int32', id: 1 } } },
    Event: {
      fields: {
        wallTime: { type: 'double', id: 1 },
        step: { type: 'int64', id: 2 },
        fileVersion: { type: 'string', id: 3 },
        summary: { type: 'Summary', id: 5 },
        sessionLog: { type: 'SessionLog', id: 7 }
      }
    }
  }
}).nested as { Event: protobuf.Type }

/** The status of a SessionLog at whose step readers drop what they have read of it and of later ones. */
const START = 1

/** CRC-32C (Castagnoli), bits reversed. */
const CASTAGNOLI = 0x82f63b78

type Checksum = (bytes: Uint8Array) => number

/**
 * Writes a run's curves for TensorBoard, with iterations as steps. The file is a TFRecord file: each record is a length, the checksum of the length,
 * an Event and the checksum of the Event.
 */
export class TensorBoardFile implements EventSink {
  readonly #path: string
  readonly #file: number
  readonly #checksum: Checksum
  readonly #wayBack = new WayBack()

  private constructor(path: string, file: number, checksum: Checksum) {
    this.#path = path
    this.#file = file
    this.#checksum = checksum
  }

  /** Makes the folder `DIRECTORY/RUN` and the file in it. `seconds` since 1970 become part of the file's name. Throws the system's error. */
  static async open(directory: string, run: string, seconds: number): Promise<TensorBoardFile> {
    const crc = await createCRC32(CASTAGNOLI)
    const checksum: Checksum = (bytes) => {
      const digest = crc.init().update(bytes).digest('binary')
      return new DataView(digest.buffer, digest.byteOffset).getUint32(0)
    }
    const folder = join(directory, run)
    makeFolder(folder)
    const path = join(folder, `events.out.tfevents.${Math.floor(seconds)}.${hostname()}.${process.pid}`)
    const file = openSync(path, 'a')
    const opened = new TensorBoardFile(path, file, checksum)
    try {
      opened.#writeRecord({ wallTime: seconds, fileVersion: 'brain.Event:2' })
    } catch (error) {
      closeSync(file)
      throw error
    }
    return opened
  }

  write(event: RecordedEvent, seconds: number): void {
    const from = this.#wayBack.take(event)
    if (from !== undefined) this.#writeRecord({ wallTime: seconds, step: from + 1, sessionLog: { status: START } })
    if (!('iteration' in event)) return
    const value = Object.entries(curvesOf(event)).map(([tag, simpleValue]) => ({ tag, simpleValue }))
    if (value.length > 0) this.#writeRecord({ wallTime: seconds, step: event.iteration, summary: { value } })
  }

  close(): void {
    closeSync(this.#file)
  }

  #writeRecord(event: object): void {
    const data = Event.encode(Event.create(event)).finish()
    const record = Buffer.alloc(8 + 4 + data.length + 4)
    record.writeBigUInt64LE(BigInt(data.length))
    record.writeUInt32LE(masked(this.#checksum(record.subarray(0, 8))), 8)
    record.set(data, 12)
    record.writeUInt32LE(masked(this.#checksum(data)), 12 + data.length)
    try {
      appendAll(this.#file, record)
    } catch (cause) {
      throw unwritableFile(this.#path, cause, { needed: record.length, left: 'the run goes on, and what is there stays' })
    }
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
    case 'logged': {
      const group = event.learner === null ? 'metrics' : `learner ${event.learner}`
      return Object.fromEntries(Object.entries(event.metrics).map(([name, value]) => [`${group}/${name}`, value]))
    }
    case 'evaluated': {
      const { testLoss, testAccuracy, testTopK, testPerplexity, testMetrics } = event
      const measured = { accuracy: testAccuracy, top_k_accuracy: testTopK, perplexity: testPerplexity, ...testMetrics }
      const numbers = Object.entries(measured).filter(([, value]) => typeof value === 'number')
      return { 'test/loss': testLoss, ...Object.fromEntries(numbers.map(([name, value]) => [`test/${name}`, value as number])) }
    }
    default:
      return {}
  }
}

/** TFRecord stores checksums rotated by 15 bits plus a constant, since the checksum of data that contains its own checksum is weak. */
function masked(checksum: number): number {
  return (((checksum >>> 15) | (checksum << 17)) + 0xa282ead8) >>> 0
}
