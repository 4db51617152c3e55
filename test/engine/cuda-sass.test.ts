import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { skip } from '../support/skip.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const LIBRARY = join(ROOT, 'native/build-cuda/Release/libarbalest-cuda.so')
const TOOLS = join(ROOT, '.cuda/nvidia/cu13/bin')

/** Machine code for Hopper by kernel, names as C++ mangles them. */
function machineCode(): Map<string, string> {
  const { stdout, status, stderr } = spawnSync(join(TOOLS, 'cuobjdump'), ['-sass', '-arch', 'sm_90', LIBRARY], {
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
    env: { ...process.env, PATH: `${TOOLS}:${process.env['PATH']}` }
  })
  expect(status, stderr).to.equal(0)
  const functions = stdout.split(/^\s*Function : /m).slice(1)
  return new Map(functions.map((text) => [text.slice(0, text.indexOf('\n')).trim(), text]))
}

describe('The machine code of the CUDA kernels', () => {
  let kernels: ReadonlyMap<string, string>
  const named = (...words: string[]): [string, string][] => [...kernels].filter(([name]) => words.every((word) => name.includes(word)))

  before(function () {
    this.timeout(300_000)
    if (!existsSync(LIBRARY) || !existsSync(join(TOOLS, 'nvdisasm')))
      skip(this, 'no CUDA library and no disassembler here; `npm run setup:cuda` and `npm run build:cuda` make them')
    kernels = machineCode()
  })

  it('reads 16 bytes at once where packs were meant', () => {
    for (const [what, ...words] of [
      ['ReLU in bfloat16', '4ReluI', 'Bf16ELi8E'],
      ['the sum in float32', '3AddIfLi4E'],
      ['batch norm in bfloat16', '9NormaliseI', 'Bf16ELi8E'],
      ["batch norm's gradient in bfloat16", '17BatchNormBackwardI', 'Bf16ELi8E'],
      ['batch norm of clusters in bfloat16', '11SumAndApplyI', '7ForwardI', 'Bf16ELi8E'],
      ['its gradient in bfloat16', '11SumAndApplyI', '8BackwardI', 'Bf16ELi8E'],
      ['batch norm of partial sums', '13AddUpAndApplyI', '7ForwardI'],
      ['its gradient', '13AddUpAndApplyI', '8BackwardI'],
      ['the optimiser', '8OptimiseILi4E'],
      ['the average', '7AverageILi4E']
    ] as const) {
      const found = named(...words)
      expect(found, what).to.have.length.above(0)
      for (const [name, code] of found)
        expect(code, `${what}: ${name}`)
          .to.match(/LDG\.E\.128/)
          .and.match(/STG\.E\.128/)
    }
  })

  it('waits for the kernel before it ahead of all memory, and lets the next one begin', () => {
    // The instructions of griddepcontrol.wait and griddepcontrol.launch_dependents.
    const early = named('_kernelI').filter(([, code]) => {
      const waits = code.search(/\bACQBULK\b/)
      const others = [/\b(LDG|STG|LDGSTS|LD|ST|ATOM|ATOMG|RED)\b/, /\bEXIT\b/, /\bPREEXIT\b/].map((instruction) => code.search(instruction))
      return waits < 0 || others.at(-1)! < 0 || others.some((at) => at >= 0 && at < waits)
    })
    expect(early.map(([name]) => name)).to.deep.equal([])
    expect(named('_kernelI')).to.have.length.above(200)
  })

  it('keeps every array in registers', () => {
    const spilling = [...kernels].filter(([, code]) => /\b(LDL|STL)\b/.test(code)).map(([name]) => name)
    expect(spilling).to.deep.equal([])
  })

  it('multiplies by tensor cores in convolutions and attention by tiles, and nowhere else: all other matrices are those of cuDNN and cuBLASLt', () => {
    const multiplying = [...kernels].filter(([, code]) => /\b(HMMA|HGMMA|IMMA|DMMA)\b/.test(code)).map(([name]) => name)
    const byTiles = ['TileConvolution', 'TileWeightsGradient', '13TileAttention', 'TileAttentionGradients'].flatMap((program) => {
      const found = named(program).map(([name]) => name)
      expect(found, program).not.to.be.empty
      return found
    })
    expect(multiplying).to.have.members(byTiles)
  })
})
