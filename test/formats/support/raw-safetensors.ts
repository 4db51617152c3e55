/** A safetensors file of any header text, right or wrong, and any data. */
export function rawSafetensors(header: string | Uint8Array, data: Uint8Array = new Uint8Array(0), length?: bigint): Buffer {
  const json = Buffer.from(header)
  const size = Buffer.alloc(8)
  size.writeBigUInt64LE(length ?? BigInt(json.length))
  return Buffer.concat([size, json, data])
}

/** The header of F32 tensors of given extents, one after the other. */
export function headerOf(tensors: Readonly<Record<string, readonly number[]>>): Record<string, Record<string, unknown>> {
  let begin = 0
  return Object.fromEntries(
    Object.entries(tensors).map(([name, shape]) => {
      const end = begin + 4 * shape.reduce((product, extent) => product * extent, 1)
      const entry = { dtype: 'F32', shape, data_offsets: [begin, end] }
      begin = end
      return [name, entry]
    })
  )
}
