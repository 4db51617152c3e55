import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { PlacedParameter, Program } from '../../../src/compiler/program.js'

type PlacedOperator = Program['segments']['load'][number]
type Numbers = readonly number[]

const TYPES = ['f32', 'f64', 'bf16', 'i32', 'u8']
const ARENAS = ['weights', 'gradients', 'statistics', 'activations']
const SEGMENTS = ['load', 'forward', 'backward', 'exchange', 'update'] as const

const WORDS = readFileSync(fileURLToPath(new URL('../../../../native/fuzz/words.inc', import.meta.url)), 'utf8')
  .split('\n')
  .flatMap((line) => /^"(.*)",$/.exec(line)?.[1] ?? [])

/** A Program as the bytes that native/fuzz/input.h reads it from; its samples are those of data set `data` of fuzz_program.cpp. */
export function encodeProgram(program: Program, data: number): Uint8Array {
  const { values, segments, parameters, arenas, named } = program
  return Uint8Array.from([
    data,
    ...number(0), // the position
    ...real(0.1), // the rate
    ...among(TYPES, program.precision),
    ...number(program.batch),
    ...list(values, ({ name, type, shape, layout, bytes, placement }) => [
      ...word(program.named[name] === undefined ? 'plain' : name),
      ...spec(type, shape, layout),
      ...number(bytes),
      ...among(ARENAS, placement.arena),
      ...number(placement.offset)
    ]),
    ...SEGMENTS.flatMap((segment) => list(segments[segment], placedOperator)),
    ...list(parameters.parameters, parameter),
    ...number(parameters.bytes),
    ...number(parameters.elements),
    ...ARENAS.flatMap((arena) => number(arenas[arena as keyof typeof arenas])),
    ...list(Object.entries(named), ([name, id]) => [...word(name), ...number(id)])
  ])
}

/** The layout alone, and an optimiser's numbers: what fuzz_vectors.cpp reads. */
export function encodeVectors({ parameters: { parameters, bytes, elements }, segments }: Program): Uint8Array {
  return Uint8Array.from([
    ...list(parameters, parameter),
    ...number(bytes),
    ...number(elements),
    ...attributes(segments.update[0]!.attributes),
    ...real(0.1),
    2,
    ...real(1),
    ...real(1)
  ])
}

function placedOperator(operator: PlacedOperator): Numbers {
  const { kind, inputs, outputs, scratch } = operator
  return [
    ...word(kind),
    ...list(inputs, number),
    ...list(outputs, number),
    ...attributes(operator.attributes),
    ...number(scratch.bytes),
    ...number(scratch.offset)
  ]
}

function parameter({ type, shape, layout, offset, bytes, canonical, frozen }: PlacedParameter): Numbers {
  return [...spec(type, shape, layout), ...number(offset), ...number(bytes), ...number(canonical), frozen ? 1 : 0]
}

function attributes(values: PlacedOperator['attributes']): Numbers {
  return list(Object.entries(values), ([name, value]) => [...word(name), ...list(typeof value === 'number' ? [value] : value, real)])
}

function spec(type: string, shape: Numbers, layout: string): Numbers {
  return [...among(TYPES, type), ...list(shape, number), ...word(layout)]
}

function list<T>(items: readonly T[], encode: (item: T) => Numbers): Numbers {
  return [items.length, ...items.flatMap(encode)]
}

function word(text: string): Numbers {
  return among(WORDS, text)
}

function among(known: readonly string[], text: string): Numbers {
  const index = known.indexOf(text)
  if (index < 0) throw new Error(`${JSON.stringify(text)} is not among ${known.join(', ')}`)
  return [index]
}

/** A byte where that is enough, else four behind their number. */
function number(value: number): Numbers {
  if (value >= -8 && value < 240) return [value + 8]
  return [251, ...new Uint8Array(Int32Array.of(value).buffer)]
}

function real(value: number): Numbers {
  if (Number.isInteger(value) && value >= -8 && value < 240) return [0, ...number(value)]
  return [1, ...new Uint8Array(Float64Array.of(value).buffer)]
}
