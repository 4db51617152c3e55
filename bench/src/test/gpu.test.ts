import { expect } from 'chai'
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { skip } from '../../../dist/test/support/skip.js'
import { chosenCases, type Case } from '../cases.js'
import { gpu } from '../gpu.js'
import { Allowance, OutOfTime } from '../gpu/allowance.js'
import { bestOf, Contest, type ContestOptions, type Runner } from '../gpu/contest.js'
import { gridCases } from '../gpu/grid.js'
import { Journal, readEntries } from '../gpu/journal.js'
import { OWN_NAMES, OWN_WAYS, USUAL_MODES, type How } from '../gpu/modes.js'
import { isWhole, resultOf, savedResults } from '../gpu/result.js'
import { whyNoGpu } from '../gpu/place.js'
import { record } from '../record.js'

const PLACE = { commit: 'abc', device: 'a GPU', driver: '580', torch: '2.11' }
const [k1, k8] = chosenCases(['resnet32', 'b16', 'k1', 'k8', 'bf16']) as [Case, Case]

const nameOf = (how: How): string => OWN_NAMES.find((way) => OWN_WAYS[way] === how) ?? 'ours'

describe('The comparison on a GPU', () => {
  let folder: string
  let started: string[]
  let told: string[]
  let open: Set<string>
  let rates: Record<string, number>
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'arbalest-gpu-'))
    started = []
    told = []
    open = new Set()
    rates = {
      ours: 400,
      lockstep: 500,
      bank: 600,
      'two banks': 700,
      eager: 50,
      graph: 200,
      streams: 180,
      stacked: 150,
      'compile-graph': 300,
      compile: 250
    }
  })
  afterEach(() => {
    expect([...open]).to.deep.equal([])
    rmSync(folder, { recursive: true })
  })

  /** Runs as fast as it is told to; one without a rate does not start. */
  async function start(what: string): Promise<Runner> {
    started.push(what)
    const rate = rates[what]
    if (rate === undefined) throw new RangeError(`no ${what} here`)
    open.add(what)
    return { run: async () => rate, close: () => void open.delete(what) }
  }

  function options(more: Partial<ContestOptions> = {}): ContestOptions {
    const starts = {
      ours: (one: Case, how: How) => start(nameOf(how)),
      pytorch: (one: Case, mode: string) => start(mode)
    }
    const journal = new Journal(PLACE, folder)
    return {
      starts,
      journal,
      allowance: new Allowance(),
      modes: USUAL_MODES,
      pairs: 2,
      seconds: 0.001,
      log: (line) => void told.push(line),
      ...more
    }
  }

  async function whole(one: Case, given: ContestOptions): Promise<void> {
    for (const each of ['withoutCompiling', 'compiled'] as const) {
      const contest = new Contest(one, given)
      try {
        await contest[each]()
      } finally {
        contest.close()
      }
    }
  }

  const found = (one: Case, { journal }: ContestOptions) => resultOf(one, (subject, what) => journal.known(subject, what))

  it('is of our learners alone where no peer is wanted', async () => {
    const given = options()
    const contest = new Contest(k8, given)
    await contest.oursAlone()
    contest.close()
    expect(started).to.deep.equal(['ours'])
    const result = found(k8, given)
    expect([isWhole(result, true), isWhole(result)]).to.deep.equal([true, false])
    expect([...open]).to.deep.equal([])
  })

  it('refuses another peer, which it does not have, and words beside collect', async () => {
    const usual = { json: false, profile: false, pairs: 1, seconds: 1 }
    const refusal = (words: readonly string[], more: object) => gpu.run(words, { ...usual, ...more }).catch((error: unknown) => error)
    expect(await refusal(['lenet'], { peers: 'jax' })).to.match(/^ArbalestError: --peers: received "jax"; give none, /)
    expect(await refusal(['collect', 'lenet'], { out: folder, save: 'x' })).to.match(/^ArbalestError: gpu: received "collect lenet"; /)
  })

  it('is refused where there is no GPU, before PyTorch is started; so is the record on one', async function () {
    if (whyNoGpu() === undefined) skip(this, 'there is a GPU')
    const usual = { json: false, profile: false, pace: false, pairs: 1, seconds: 1 }
    for (const measuring of [gpu.run([], usual), record.run(['cuda', 'n1'], { ...usual, out: folder })])
      expect(await measuring.catch((error: unknown) => error)).to.have.property('code', 'BACKEND_UNAVAILABLE')
  })

  it('is with what does not compile first, and again with what does where that is faster', async () => {
    const given = options()
    const contest = new Contest(k8, given)
    await contest.withoutCompiling()
    contest.close()
    expect(started).to.deep.equal(['ours', 'eager', 'graph', 'streams', 'stacked', 'lockstep', 'bank', 'two banks'])
    expect(found(k8, given).compared).to.include({ peerMode: 'graph', ratio: 2, n: 2 })
    expect(found(k8, given)).to.have.nested.property('ways.lockstep.median', 500)
    const again = new Contest(k8, given)
    expect(await again.compiled()).to.equal(true)
    again.close()
    // What has compiled for minutes is the one that ours is compared with.
    expect(started.slice(8)).to.deep.equal(['compile-graph', 'compile', 'ours'])
    expect(found(k8, given).compared).to.include({ peerMode: 'compile-graph', n: 2 })
    rates = { ...rates, 'compile-graph': 100, compile: 100 }
    const slow = options({ journal: new Journal(PLACE) })
    await whole(k1, slow)
    expect(found(k1, slow).compared).to.include({ peerMode: 'graph' })
  })

  it('measures what is the same for any number of learners once', async () => {
    const given = options()
    await whole(k1, given)
    started = []
    await whole(k8, given)
    expect(started).to.deep.equal(['ours', 'streams', 'stacked', 'compile-graph', 'lockstep', 'bank', 'two banks'])
    expect(bestOf(k8, given)).to.include({ mode: 'compile-graph', median: 300 })
  })

  it('tells what fails and goes on, and tries it once more in another start', async () => {
    for (const mode of ['graph', 'compile']) delete rates[mode]
    for (const tries of [1, 1, 0]) {
      started = []
      const given = options()
      for (const one of [k1, k8]) await whole(one, given)
      expect(started.filter((what) => what === 'compile')).to.have.length(tries)
      const result = found(k8, given)
      expect(result.peerModes.graph).to.equal('no graph here')
      expect(result.compared).to.include({ peerMode: 'compile-graph' })
      expect(result.failures).to.deep.equal({})
    }
    delete rates['ours']
    const given = options({ journal: new Journal(PLACE) })
    await whole(k8, given)
    expect(found(k8, given).failures).to.deep.equal({ ours: 'no ours here' })
    expect(told).to.include('resnet32 b16 k8 bf16: ours: no ours here').and.include('resnet32 b16 k8 bf16: lockstep: 500 a second')
  })

  it('has stacked replicas operator by operator where they cannot be recorded', async () => {
    delete rates['stacked']
    rates['stacked-eager'] = 280
    const given = options()
    const contest = new Contest(k8, given)
    await contest.withoutCompiling()
    contest.close()
    expect(found(k8, given).compared).to.include({ peerMode: 'stacked-eager' })
    expect(found(k8, given).peerModes.stacked).to.equal('no stacked here')
  })

  describe('where memory is short', () => {
    /** Gigabytes that each has while it is open, of 79. */
    const TAKES: Record<string, number> = {
      ours: 43,
      lockstep: 43,
      bank: 43,
      'two banks': 43,
      eager: 4,
      graph: 5,
      stacked: 55,
      'compile-graph': 5,
      compile: 38
    }
    const used = (): number => [...open].reduce((sum, what) => sum + TAKES[what]!, 0)

    async function startWithin(what: string): Promise<Runner> {
      if (used() + TAKES[what]! > 79) {
        started.push(`${what}: too large`)
        throw new Error(`pytorch_gpu.py ended: torch.OutOfMemoryError: CUDA out of memory beside ${used()} GB`)
      }
      return start(what)
    }

    function within(more: Partial<ContestOptions> = {}): ContestOptions {
      const starts = {
        ours: (one: Case, how: How) => startWithin(nameOf(how)),
        pytorch: (one: Case, mode: string) => startWithin(mode)
      }
      return options({ starts, ...more })
    }

    it('measures PyTorch alone, and compares in turns that have the GPU to themselves', async () => {
      rates['stacked'] = 800
      const given = within({ modes: ['eager', 'graph', 'stacked'] })
      await whole(k8, given)
      const result = found(k8, given)
      expect(started.slice(2, 5)).to.deep.equal(['graph', 'stacked: too large', 'stacked'])
      expect(result.peerModes.stacked).to.have.property('median', 800)
      expect(result.compared).to.include({ peerMode: 'stacked', apart: true, ratio: 0.5, n: 2 })
      expect(told).to.include("resnet32 b16 k8 bf16: compared: 0.50 times PyTorch's stacked, each alone on the GPU")
      expect(isWhole(result)).to.equal(true)
      started = []
      await whole(k8, within({ modes: ['eager', 'graph', 'stacked'] }))
      expect(started).to.deep.equal([])
    })

    it('says that they do not run together where there is no time for turns, and is whole all the same', async () => {
      const rate = (median: number) => ({ rate: { n: 3, median, min: median, max: median, quartiles: [median, median] as const } })
      const known = new Journal(PLACE, folder)
      known.note(k8.name, 'ours', rate(400))
      known.note(k8.name, 'stacked', rate(800))
      for (const tries of [1, 1, 0]) {
        started = []
        const given = within({ modes: ['stacked'], allowance: new Allowance(0.1) })
        const contest = new Contest(k8, given)
        await contest.compiled()
        contest.close()
        expect(started).to.deep.equal(tries ? ['ours', 'stacked: too large'] : [])
        expect(found(k8, given).failures.compared).to.match(/out of memory beside 43 GB$/)
        expect(isWhole(found(k8, given))).to.equal(true)
      }
      expect(isWhole({ ...found(k8, within()), failures: { lockstep: 'CUDA out of memory' } })).to.equal(false)
    })

    it('tells of what does not fit even alone', async () => {
      TAKES['stacked'] = 90
      const given = within({ modes: ['graph', 'stacked'] })
      await whole(k8, given)
      TAKES['stacked'] = 55
      expect(found(k8, given).peerModes.stacked).to.match(/out of memory beside 0 GB$/)
      expect(found(k8, given).compared).to.include({ peerMode: 'graph' }).and.not.have.property('apart')
    })
  })

  it('goes on where the start before was cut off, on the same GPU alone', async () => {
    await whole(k1, options())
    appendFileSync(join(folder, 'bench-gpu.jsonl'), '{"subject":"resnet32 b16')
    started = []
    await whole(k1, options())
    expect(started).to.deep.equal([])
    await whole(k1, options({ pairs: 3 }))
    expect(started).to.deep.equal(['ours', 'compile-graph'])
    expect(readFileSync(join(folder, 'bench-gpu.jsonl'), 'utf8')).to.match(/^({.*}\n)+$/)
    started = []
    await whole(k1, options({ journal: new Journal({ ...PLACE, device: 'another' }, folder) }))
    expect(started).to.have.length.above(5)
  })

  it('begins nothing that would hardly end in time, but for the first', async () => {
    const given = options({ allowance: new Allowance(1 / 60) })
    const contest = new Contest(k1, given)
    let error: unknown
    await contest.withoutCompiling().catch((thrown: unknown) => (error = thrown))
    contest.close()
    expect(error).to.be.instanceOf(OutOfTime)
    expect(started).to.deep.equal(['ours'])
    await whole(k1, options())
    expect(started).to.deep.equal(['ours', 'eager', 'graph', 'ours', 'compile-graph', 'compile', 'ours'])
  })

  it('is in images a second, or in tokens of texts', async () => {
    const text = chosenCases(['gpt', 'b16', 'k1', 'bf16'])[0]!
    for (const [one, unit] of [
      [k1, 'images/s'],
      [text, 'tokens/s']
    ] as const) {
      const given = options()
      await whole(one, given)
      expect(found(one, given)).to.include({ case: one.name, unit })
    }
  })

  it('is committed with what is needed to judge it, as the case was measured last', async () => {
    await whole(k1, options())
    rates['ours'] = 800
    await whole(k1, options({ journal: new Journal({ ...PLACE, commit: 'def' }, folder) }))
    await whole(k8, options())
    const results = savedResults(readEntries(folder), (subject) => chosenCases([subject])[0]!)
    expect(results.map((result) => [result.case, result.commit, result.ours?.median])).to.deep.equal([
      ['resnet32 b16 k1 bf16', 'def', 800],
      ['resnet32 b16 k8 bf16', 'abc', 800]
    ])
    expect(results[0]).to.include({ device: 'a GPU', driver: '580', torch: '2.11', seed: 1 })
    expect(results[0]!.ours).to.deep.equal({ n: 3, median: 800, min: 800, max: 800, quartiles: [800, 800] })
    expect(results[0]!.compared).to.include({ n: 2, peerMode: 'compile-graph' })
    expect(results[1]!.peerModes).to.have.all.keys(USUAL_MODES)
  })
})

describe('gridCases', () => {
  const names = (...words: string[]): string[] => gridCases(words).map(({ name }) => name)

  it('is the whole comparison, what matters most first', () => {
    const all = names()
    expect(all)
      .to.have.length(new Set(all).size)
      .and.length(3 * 4 * 6 + 2 * 6)
    expect(all.slice(0, 2)).to.deep.equal(['resnet32 b16 k1 bf16', 'resnet32 b16 k8 bf16'])
    expect(all).to.include.members(['lenet b8 k32 bf16', 'vgg16 b64 k4 bf16', 'resnet50 b32 k16 bf16'])
    expect(all.filter((name) => name.startsWith('resnet50 b64'))).to.deep.equal([])
  })

  it('is narrowed by words', () => {
    expect(names('resnet50', 'b16 k1', 'f32')).to.deep.equal(['resnet50 b16 k1 f32'])
    expect(names('lenet', 'vgg16', 'k2')).to.have.length(8)
    expect(() => names('vgg'))
      .to.throw('vgg')
      .with.property('code', 'UNKNOWN_NAME')
    expect(() => names('mlp'))
      .to.throw('mlp')
      .with.property('code', 'INVALID_OPTION')
  })
})
