import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { ArbalestError } from '../../src/errors.js'
import { readSafetensors, SafetensorsFile, writeSafetensors } from '../../src/formats/safetensors.js'
import { parseHeader } from '../../src/formats/safetensors-header.js'
import type { Tensor, TensorData } from '../../src/formats/tensor.js'
import { Folder } from '../data/support/files.js'
import { refused } from '../support/codes.js'
import { headerOf, rawSafetensors } from './support/raw-safetensors.js'

const FROM_PYTHON = fileURLToPath(new URL('../../../test/formats/fixtures/python.safetensors', import.meta.url))

const WRITTEN = [
  Float64Array,
  Float32Array,
  Int32Array,
  Int16Array,
  Int8Array,
  Uint32Array,
  Uint16Array,
  Uint8Array,
  BigInt64Array,
  BigUint64Array
]

/** A tensor of any bits, NaNs of every kind among them. */
const anyTensor: fc.Arbitrary<Tensor> = fc
  .tuple(fc.constantFrom(...WRITTEN), fc.array(fc.nat(4), { maxLength: 4 }))
  .chain(([Kind, shape]) => {
    const bytes = shape.reduce((product, extent) => product * extent, Kind.BYTES_PER_ELEMENT)
    return fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((raw) => ({ shape, data: new Kind(raw.slice().buffer) }))
  })

const anyTensors = fc
  .array(fc.tuple(fc.string({ unit: 'grapheme' }), anyTensor), { maxLength: 8 })
  .map((pairs) => new Map(pairs.filter(([name]) => name !== '__metadata__')))

function bytesOf({ data }: { data: TensorData }): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength)
}

/** Exact also where a thread's arithmetic takes numbers below the normal range for zero, as it does once the engine has run in it. */
function upperHalves(data: TensorData): number[] {
  return Array.from(new Uint32Array(data.buffer), (bits) => bits >>> 16)
}

describe('safetensors', function () {
  this.timeout(60_000)
  let folder: Folder
  let file: string
  before(async () => {
    folder = await Folder.make()
    file = join(folder.path, 'weights.safetensors')
  })
  after(() => folder[Symbol.asyncDispose]())

  const reading = async (content: Uint8Array): Promise<unknown> => {
    await writeFile(file, content)
    return readSafetensors(file)
  }

  it('reads back what it wrote, bit for bit', async () => {
    const strings = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }))
    const property = fc.asyncProperty(anyTensors, strings, async (tensors, metadata) => {
      await writeSafetensors(file, tensors, { metadata, sync: false })
      const found = await readSafetensors(file)
      expect(Object.entries(found.metadata)).to.have.deep.members(Object.entries(metadata))
      expect([...found.tensors.keys()]).to.have.members([...tensors.keys()])
      for (const [name, tensor] of tensors) {
        const back = found.tensors.get(name)!
        expect(back.shape).to.deep.equal(tensor.shape)
        expect(back.data.constructor).to.equal(tensor.data.constructor)
        expect(bytesOf(back).equals(bytesOf(tensor)), name).to.equal(true)
      }
    })
    await fc.assert(property, { numRuns: 200 })
  })

  it('aligns every tensor and keeps the order of equal elements', async () => {
    const tensors: [string, Tensor][] = [
      ['bytes', { shape: [3], data: Uint8Array.of(1, 2, 3) }],
      ['2', { shape: [1], data: Float32Array.of(2) }],
      ['1', { shape: [1], data: Float32Array.of(1) }],
      ['long', { shape: [], data: BigInt64Array.of(5n) }]
    ]
    await writeSafetensors(file, tensors)
    const length = (await readFile(file)).readBigUInt64LE()
    expect(length % 8n).to.equal(0n)
    await using opened = await SafetensorsFile.open(file)
    const places = [...opened.tensors].map(([name, { type, begin }]) => [name, type, begin])
    expect(places).to.deep.equal([
      ['long', 'I64', 0],
      ['2', 'F32', 8],
      ['1', 'F32', 12],
      ['bytes', 'U8', 16]
    ])
  })

  it('reads what Python wrote', async () => {
    const { metadata, tensors } = await readSafetensors(FROM_PYTHON)
    expect(metadata).to.deep.equal({ format: 'np', note: 'written by Python' })
    const numbers = Object.fromEntries(
      [...tensors].map(([name, { shape, data }]) => [name, { shape, data: [...(name === 'brain' ? upperHalves(data) : data)] }])
    )
    const thirds = Array.from({ length: 6 }, (_, i) => i / 3)
    expect(numbers).to.deep.equal({
      half: { shape: [9], data: [1, -0, 65504, 2 ** -24, 2 ** -14, Infinity, -Infinity, NaN, 0.333251953125] },
      brain: { shape: [6], data: [0x3f80, 0xc020, 0x7f62, 0x0001, 0x7f80, 0x7fc0] },
      single: { shape: [2, 3], data: thirds.map(Math.fround) },
      double: { shape: [2, 3], data: thirds },
      long: { shape: [2], data: [-(2n ** 63n), 2n ** 63n - 1n] },
      int: { shape: [2], data: [-(2 ** 31), 2 ** 31 - 1] },
      bytes: { shape: [3], data: [0, 255, 7] },
      flags: { shape: [2], data: [1, 0] },
      scalar: { shape: [], data: [0.5] },
      empty: { shape: [0, 4], data: [] },
      'naïve 🏹': { shape: [1], data: [1] }
    })
  })

  describe('refuses', () => {
    const entry = (fields: string): string => `{"a":{${fields}}}`
    const whole = '"dtype":"F32","shape":[1],"data_offsets":[0,4]'
    // [what, header, bytes of data, words of the message]
    const headers: readonly [string, string | Buffer, number, ...string[]][] = [
      ['no JSON', 'hello', 0, 'header', '"hello"'],
      ['no object', '[]', 0, 'a JSON object'],
      ['JSON that ends early', entry(whole).slice(0, -1), 4, 'the end'],
      ['more after the JSON', `${entry(whole)} {}`, 4, 'the end'],
      ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22]), 0, 'UTF-8'],
      ['a name twice', `{"a":{${whole}},"a":{${whole}}}`, 4, 'each name once', 'character'],
      ['a field twice', entry(`${whole},"dtype":"F32"`), 4, 'each name once'],
      ['deep nesting', entry(`${whole},"more":[[1]]`), 4, 'nesting'],
      ['very deep nesting', '['.repeat(1_000_000), 0, 'nesting'],
      ['an endless string', `{"${'a'.repeat(100)}`, 0, "a string's end"],
      ['an endless number', entry(`"shape":[${'1'.repeat(1_000_000)}]`), 0, 'at most 40'],
      ['a wrong number', entry('"shape":[01]'), 0, '01'],
      ['a wrong escape', '{"\\x":{}}', 0, '\\x'],
      ['a tensor that is a list', '{"a":[]}', 0, 'tensor "a"'],
      ['no dtype', entry('"shape":[1],"data_offsets":[0,4]'), 4, 'tensor "a"', 'dtype', 'nothing'],
      ['an unknown dtype', entry(whole.replace('F32', 'F8_E4M3')), 4, '"F8_E4M3"', 'BF16'],
      ["an object's name as dtype", entry(whole.replace('F32', 'toString')), 4, '"toString"'],
      ['no shape', entry('"dtype":"F32","data_offsets":[0,4]'), 4, 'shape'],
      ['a negative extent', entry(whole.replace('[1]', '[-1]')), 4, 'shape', '[-1]'],
      ['half an extent', entry(whole.replace('[1]', '[1.5]')), 4, '[1.5]'],
      ['an extent beyond whole numbers', entry(whole.replace('[1]', '[1e300]')), 4, '1e+300'],
      ['extents whose product is too large', entry(whole.replace('[1]', `[${'9007199254740991,'.repeat(30)}0]`)), 4, 'NaN'],
      ['one offset', entry(whole.replace('[0,4]', '[0]')), 4, 'data_offsets'],
      ['three offsets', entry(whole.replace('[0,4]', '[0,4,8]')), 4, 'data_offsets'],
      ['offsets the wrong way round', entry(whole.replace('[0,4]', '[4,0]')), 4, 'data_offsets', '[4,0]'],
      ['fewer bytes than the shape has', entry(whole.replace('[1]', '[2]')), 4, '4 bytes', '8 bytes'],
      ['a hole', `{"a":{${whole}},"b":{${whole.replace('[0,4]', '[8,12]')}}}`, 12, 'tensor "b"', 'byte 8', 'byte 4'],
      ['an overlap', `{"a":{${whole}},"b":{${whole.replace('[0,4]', '[2,6]')}}}`, 6, 'tensor "b"', 'byte 2', 'byte 4'],
      ['the same bytes twice', `{"a":{${whole}},"b":{${whole}}}`, 4, 'tensor "b"', 'byte 0', 'byte 4'],
      ['less data than its tensors take', entry(whole), 3, '3 bytes', '4'],
      ['more data than its tensors take', entry(whole), 5, '5 bytes', '4'],
      ['metadata that is no object', '{"__metadata__":"x"}', 0, '__metadata__'],
      ['metadata that is no string', '{"__metadata__":{"x":1}}', 0, '__metadata__', '"x"']
    ]
    for (const [what, header, data, ...words] of headers)
      it(what, async () => {
        await refused('DATA_CORRUPT', () => reading(rawSafetensors(header, new Uint8Array(data))), file, ...words)
      })

    it('a file that is shorter than its header, before it takes memory for it', async () => {
      await refused('DATA_CORRUPT', () => reading(new Uint8Array(7)), '7 bytes')
      await refused('DATA_CORRUPT', () => reading(new Uint8Array(0)), '0 bytes')
      for (const length of [3n, 100_000_001n, 2n ** 63n, 2n ** 64n - 1n])
        await refused('DATA_CORRUPT', () => reading(rawSafetensors('{}', undefined, length)), `${length}`, 'at most 2')
    })

    it('what is no file', async () => {
      await refused('DATA_NOT_FOUND', () => readSafetensors(join(folder.path, 'absent')), 'ENOENT')
      await refused('DATA_NOT_FOUND', () => readSafetensors(folder.path), 'not a file')
    })

    it('a tensor that is not in the file', async () => {
      await using opened = await SafetensorsFile.open(FROM_PYTHON)
      await refused('UNKNOWN_NAME', () => opened.read('toString'), 'toString')
    })

    it('to write what does not fit together', async () => {
      const tensor = { shape: [1], data: Float32Array.of(1) }
      const writing = (name: string, shape: number[], data: unknown) => () =>
        writeSafetensors(file, [[name, { shape, data: data as Float32Array }]])
      await refused('INVALID_OPTION', writing('a', [2], tensor.data), 'tensor a', '[2]', '1 numbers')
      await refused('INVALID_OPTION', writing('a', [-1, -1], tensor.data), '[-1,-1]')
      await refused('INVALID_OPTION', writing('a', [1], [1]), 'tensor a')
      await refused('INVALID_OPTION', writing('a', [1], Uint8ClampedArray.of(1)), 'Uint8ClampedArray')
      await refused('INVALID_OPTION', writing('__metadata__', [1], tensor.data), '__metadata__')
      await refused(
        'INVALID_OPTION',
        () =>
          writeSafetensors(file, [
            ['a', tensor],
            ['a', tensor]
          ]),
        'a name of its own'
      )
      const before = await readFile(file).catch(() => undefined)
      for (const none of [undefined, { a: tensor }, ['a'], [['a']].flat(), [[1, tensor]]])
        await refused('INVALID_OPTION', () => writeSafetensors(file, none as never), 'tensors: received', 'pairs of a name and a tensor')
      await refused('INVALID_OPTION', () => writeSafetensors(file, [['a', undefined as never]]), 'tensor a')
      for (const [metadata, word] of [
        [{ steps: 3 }, 'metadata.steps: received 3'],
        [['x'], 'metadata: received ["x"]']
      ] as const)
        await refused('INVALID_OPTION', () => writeSafetensors(file, [['a', tensor]], { metadata: metadata as never }), word)
      expect(await readFile(file).catch(() => undefined)).to.deep.equal(before)
    })
  })

  it('gives other JSON of the same meaning the same tensors', async () => {
    const header = ` \n{ "b" : {"data_offsets":[4,8],\t"shape":[1,1],"dtype":"F32", "comment": true},
      "\\u0061\\"\\\\" : {"dtype":"F32","shape":[],"data_offsets":[0,4.0],"x":null} }  `
    await writeFile(file, rawSafetensors(header, bytesOf({ data: Float32Array.of(1, 2) })))
    const { tensors } = await readSafetensors(file)
    expect([...tensors].map(([name, { shape, data }]) => [name, shape, ...data])).to.deep.equal([
      ['b', [1, 1], 2],
      ['a"\\', [], 1]
    ])
  })

  it('leaves the old file and nothing else where it cannot write the new one', async () => {
    const own = await Folder.make()
    await own.write('taken', Buffer.from('old'))
    const tensors = new Map([['a', { shape: [1], data: Float32Array.of(1) }]])
    await refused('WRITE_FAILED', () => writeSafetensors(join(own.path, 'absent', 'file'), tensors), 'ENOENT')
    await refused('WRITE_FAILED', () => writeSafetensors(join(own.path, 'taken', 'file'), tensors), 'ENOTDIR')
    await refused('WRITE_FAILED', () => writeSafetensors(own.path, tensors), 'EISDIR')
    expect(await readdir(own.path)).to.deep.equal(['taken'])
    await writeSafetensors(join(own.path, 'taken'), tensors)
    expect(await readdir(own.path)).to.deep.equal(['taken'])
    expect((await readSafetensors(join(own.path, 'taken'))).tensors.size).to.equal(1)
    await own[Symbol.asyncDispose]()
  })

  describe('damaged', () => {
    const content = rawSafetensors(
      JSON.stringify({ __metadata__: { a: 'b' }, ...headerOf({ 'fc.weight': [2, 3], 'fc.bias': [2], empty: [0] }) }),
      new Uint8Array(32)
    )
    const position = fc.nat(content.length - 1)
    const damage: fc.Arbitrary<(whole: Buffer) => Buffer> = fc.oneof(
      fc.array(fc.tuple(position, fc.nat(7)), { minLength: 1, maxLength: 3 }).map((flips) => (whole: Buffer) => {
        const changed = Buffer.from(whole)
        for (const [at, bit] of flips) changed[at]! ^= 1 << bit
        return changed
      }),
      position.map((end) => (whole: Buffer) => whole.subarray(0, end)),
      fc.tuple(position, position).map(
        ([from, until]) =>
          (whole: Buffer) =>
            Buffer.concat([whole.subarray(0, from), whole.subarray(until)])
      ),
      fc.tuple(position, position, fc.string({ maxLength: 12 })).map(
        ([from, until, text]) =>
          (whole: Buffer) =>
            Buffer.concat([whole.subarray(0, from), Buffer.from(text), whole.subarray(until)])
      )
    )

    it('is whole tensors or an error with a code, and takes no memory to speak of', async () => {
      const property = fc.asyncProperty(damage, async (harm) => {
        await writeFile(file, harm(content))
        const before = process.memoryUsage().arrayBuffers
        try {
          const { tensors } = await readSafetensors(file)
          for (const { shape, data } of tensors.values())
            expect(data.length).to.equal(shape.reduce((product, extent) => product * extent, 1))
        } catch (error) {
          if (!(error instanceof ArbalestError)) throw error
          expect(error.code).to.equal('DATA_CORRUPT')
          expect(error.message).to.not.include('\n')
        }
        expect(process.memoryUsage().arrayBuffers - before).to.be.below(10e6)
      })
      await fc.assert(property, { numRuns: 1000 })
    })

    it('at its end, is always refused', async () => {
      for (let end = 0; end < content.length; end++) await refused('DATA_CORRUPT', () => reading(content.subarray(0, end)))
      await reading(content)
    })
  })
})

describe('A hostile safetensors header', () => {
  const seconds = (header: string): number => {
    const bytes = Buffer.from(header)
    const began = process.cpuUsage()
    try {
      parseHeader(bytes, 0, 'file')
    } catch (error) {
      if (!(error instanceof ArbalestError)) throw error
    }
    return process.cpuUsage(began).user / 1e6
  }
  const tensors = Array.from({ length: 400_000 }, (_, i) => `"t${i}":{"dtype":"F32","shape":[1],"data_offsets":[${4 * i},${4 * i + 4}]}`)
  for (const [what, header] of [
    ['90 MB of spaces', `{${' '.repeat(90e6)}}`],
    ['a name of 90 MB', `{"${'x'.repeat(90e6)}`],
    ['400,000 tensors', `{${tensors.join(',')}}`],
    ['a shape of 40 million numbers', `{"a":{"shape":[${'1,'.repeat(40e6)}1]}}`]
  ] as const)
    // Of a processor's time, that of the garbage collector's threads included.
    it(`with ${what} is parsed or refused at once`, () => expect(seconds(header)).to.be.below(4))
})

describe('A file of another format', () => {
  it('is called by its name', async () => {
    await using folder = await Folder.make()
    const onnx = await folder.write('model.onnx', Uint8Array.of(8, 8, 18, 8, 97, 114, 98, 97, 108, 101, 115, 116))
    await refused('DATA_CORRUPT', () => SafetensorsFile.open(onnx), 'found an ONNX model')
    const zip = await folder.write('model.pt', Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(100, 1)]))
    await refused('DATA_CORRUPT', () => SafetensorsFile.open(zip), 'found a PyTorch checkpoint')
    const keras = await folder.write('model.h5', Buffer.from('\x89HDF\r\n\x1a\nabc', 'latin1'))
    await refused('DATA_CORRUPT', () => SafetensorsFile.open(keras), 'found an HDF5 file, such as Keras writes; convert it')
    for (const image of ['\x89PNG\r\n\x1a\n', '\xff\xd8\xff\xe0JFIF', 'GIF89a..', 'RIFF....WEBP', '<svg xmlns=', '<?xml version='])
      await refused(
        'DATA_CORRUPT',
        async () => SafetensorsFile.open(await folder.write('three.png', Buffer.from(image, 'latin1'))),
        'found an image; name the file of a model here'
      )
    // What a clone without Git LFS has, and what a browser saves instead of a file.
    const pointer = await folder.write(
      'lfs.safetensors',
      Buffer.from('version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n')
    )
    await refused(
      'DATA_CORRUPT',
      () => SafetensorsFile.open(pointer),
      'found a pointer of Git LFS to one; fetch the file itself',
      'git lfs pull'
    )
    for (const page of ['<!DOCTYPE html><html>', '\n<html lang="en">'])
      await refused(
        'DATA_CORRUPT',
        async () => SafetensorsFile.open(await folder.write('page.safetensors', Buffer.from(page))),
        'a page of HTML'
      )
  })
})
