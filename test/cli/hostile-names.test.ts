import { expect } from 'chai'
import { writeFile } from 'node:fs/promises'
import sharp from 'sharp'
import { topTable } from '../../src/cli/top/top-command.js'
import { eventMessage } from '../../src/cli/reporters/messages.js'
import { tableLines } from '../../src/cli/text.js'
import { defineModel, flatten, gpt, linear, saveModel, type JobEvent, type ProgressEvent } from '../../src/index.js'
import { writeSafetensors } from '../../src/formats/safetensors.js'
import { modelNamed } from '../../src/model/zoo/index.js'
import { Folder } from '../data/support/files.js'
import { randomTrainedModel } from '../formats/support/random-weights.js'
import { run } from './support/arbalest.js'
import { eachInTurn } from './support/refusals.js'

/** Sets a terminal's title, moves its cursor up and reverses the text that follows. */
const HOSTILE = 'evil\x1b]0;title\x07\x1b[2A\u202e\r\nname'
/** Control characters that no command prints of its own where there is no terminal. */
// eslint-disable-next-line no-control-regex
const STEERING = /[\x00-\x09\x0b-\x1f\x7f\u202e]/

describe('A hostile name', () => {
  it('steers no terminal from a text that a model writes, nor from its prompt', async () => {
    await using folder = await Folder.make()
    const vocabulary = [...new Set(HOSTILE)]
    const model = gpt({ input: [8], classes: vocabulary.length }, { layers: 1, heads: 1, width: 4 })
    const trained = randomTrainedModel(model)
    const file = `${folder.path}/text.safetensors`
    const values = { weights: trained.weights(), statistics: trained.statistics(), normalisation: { mean: [], std: [] } }
    await saveModel(file, { model, ...values, classNames: vocabulary })
    const { code, stdout, stderr } = await run(['generate', file, HOSTILE, '--length', '100', '--temperature', '9'])
    expect(code, stderr).to.equal(0)
    expect(stdout).to.include('evil').and.include('\\u{1b}').and.include('\nname').and.not.match(STEERING)
  })

  it('steers no terminal from an event', () => {
    const events = [
      { event: 'sampleSkipped', item: HOSTILE, reason: HOSTILE, skipped: 1 },
      { event: 'checkpoint', iteration: 1, folder: HOSTILE, reason: HOSTILE },
      { event: 'setAside', checkpoints: [{ folder: HOSTILE, movedTo: HOSTILE, reason: HOSTILE }] },
      { event: 'resumed', folder: HOSTILE, iteration: 1, refused: [] },
      { event: 'learnerLost', learner: 1, round: 1, reason: HOSTILE, replacedBy: null, vacant: true },
      { event: 'population', round: 1, from: 1, to: 2, reason: HOSTILE },
      { event: 'levels', devices: [1], levels: [], reason: HOSTILE },
      { event: 'started', model: HOSTILE, data: HOSTILE, synchroniser: 'sma', learners: 1, parameters: 1, samples: 1, iterations: 1 }
    ] as unknown as Exclude<JobEvent, ProgressEvent>[]
    for (const event of events) {
      const text = plain(eventMessage(event)!)
      expect(text, event.event).to.include('evil')
      expect(text, event.event).to.not.match(STEERING)
    }
  })

  it('steers no terminal from a table, of runs and options or of running jobs', () => {
    const lines = tableLines([{ title: HOSTILE, cell: () => HOSTILE }], [{}])
    for (const line of lines) expect(line).to.not.match(STEERING).and.not.include('\n')
    const actor = {
      name: HOSTILE,
      thread: 0,
      depth: 0,
      busy: false,
      deferred: 0,
      messages: 0,
      timed: 0,
      waitTime: 0,
      handleTime: 0,
      restarts: 0,
      heap: 0
    }
    const rates = { rate: 0, wait: null, handle: null, share: 0 }
    const shown = topTable([{ pid: 1, id: HOSTILE, name: HOSTILE, seconds: 1, actors: [{ ...actor, ...rates }] }], { colour: false })
    for (const line of shown) expect(line).to.not.match(STEERING).and.not.include('\n')
  })

  it('steers no terminal from a log, a model, its classes or an image', async () => {
    await using folder = await Folder.make()
    const log = `${folder.path}/log.jsonl`
    const began = { run: HOSTILE, time: 1, event: 'run', options: { model: HOSTILE, data: HOSTILE, seed: 1 }, versions: {} }
    await writeFile(
      log,
      `${[1, 2].map((seed) => JSON.stringify({ ...began, run: `${HOSTILE}${seed}`, options: { ...began.options, seed } })).join('\n')}\n`
    )
    const model = `${folder.path}/model.safetensors`
    const layers = defineModel({ name: HOSTILE, input: [1, 2, 2], layers: [flatten(), linear(2, { name: 'fc' })] })
    const weights = {
      'fc.weight': { shape: [2, 4], data: new Float32Array(8) },
      'fc.bias': { shape: [2], data: new Float32Array(2) }
    }
    await saveModel(model, { model: layers, weights, statistics: {}, normalisation: { mean: [], std: [] }, classNames: [HOSTILE, 'b'] })
    // Of this one a warning says that its normalisation is unknown.
    const bare = `${folder.path}/bare${HOSTILE}.safetensors`
    const unnamed = randomTrainedModel(modelNamed('logistic-regression', { input: [1, 2, 2], classes: 2 }))
    await writeSafetensors(bare, Object.entries(unnamed.weights()), { sync: false })
    const image = `${folder.path}/${HOSTILE}.png`
    await sharp({ create: { width: 2, height: 2, channels: 3, background: 'red' } })
      .png()
      .toFile(image)
    await folder.write('learner.mjs', Buffer.from(`export class Learner { constructor() { throw new Error(${JSON.stringify(HOSTILE)}) } }`))
    const failing = `export default { model: 'mlp', learners: 1, synchroniser: 'ssgd', learner: new URL('learner.mjs', import.meta.url) }`
    const job = await folder.write('failing.config.mjs', Buffer.from(failing))
    const commands = [
      ['crossover', job, job],
      ['runs', log],
      ['runs', log, '--compare'],
      ['runs', log, '--run', HOSTILE],
      ['predict', model, image],
      ['predict', model, `${folder.path}/none${HOSTILE}.png`],
      ['export', model, '--out', `${folder.path}/out${HOSTILE}.safetensors`],
      ['eval', model],
      ['train', '--model', HOSTILE],
      ['train', '--data', HOSTILE],
      ['init', '--model', HOSTILE],
      ['init', '--data', HOSTILE],
      ['explain', HOSTILE],
      ['explain', `${folder.path}/none${HOSTILE}.ts`],
      [
        'explain',
        await folder.write('own.mjs', Buffer.from(`export default { model: ${JSON.stringify(layers)} }`)),
        '--gflops',
        '1',
        '--gbs',
        '1'
      ],
      ['export', bare, '--model', 'logistic-regression', '--input', '1x2x2', '--classes', '2', '--out', `${folder.path}/whole.safetensors`],
      ['generate', model, HOSTILE],
      ['generate', `${folder.path}/none${HOSTILE}`, 'a'],
      [HOSTILE]
    ]
    for (const args of commands) {
      const { stdout, stderr } = await run(args, { cwd: folder.path })
      expect(stdout + stderr, args.join(' '))
        .to.include('evil')
        .and.not.match(STEERING)
    }
  })

  it('steers no terminal from the arguments of any command', async () => {
    const commandLines = [
      ['train', '--config', `${HOSTILE}.ts`],
      ['train', '--save', `${HOSTILE}.txt`],
      ['train', '--initial-weights', HOSTILE],
      ['train', '--learner', HOSTILE],
      ['train', '--data-dir', HOSTILE, '--data', 'mnist'],
      ['train', `--${HOSTILE}`],
      ['crossover', `${HOSTILE}.ts`, `${HOSTILE}.ts`],
      ['launch', HOSTILE],
      ['hub', HOSTILE],
      ['init', HOSTILE],
      ['export', HOSTILE, '--out', 'model.onnx'],
      ['import', HOSTILE, '--model', 'mlp', '--out', HOSTILE],
      ['eval', HOSTILE],
      ['predict', HOSTILE, HOSTILE],
      ['generate', HOSTILE, HOSTILE],
      ['explain', `${HOSTILE}/model.ts`],
      ['data', 'get', HOSTILE],
      ['data', 'check', HOSTILE],
      ['doctor', HOSTILE],
      ['setup', HOSTILE],
      ['top', '--pid', HOSTILE],
      ['ctl', HOSTILE],
      ['repl', HOSTILE],
      ['runs', HOSTILE],
      ['runs', '--plot', HOSTILE],
      ['dashboard', HOSTILE]
    ]
    const [help, ...ended] = await eachInTurn([['--help'], ...commandLines])
    const commands = [...help!.stdout.split('Commands:')[1]!.matchAll(/^ {2}(\w+) /gm)].map(([, name]) => name)
    expect(new Set(commandLines.map(([name]) => name))).to.deep.equal(new Set(commands.filter((name) => name !== 'help')))
    for (const [i, { code, stdout, stderr }] of ended.entries()) {
      const line = commandLines[i]!.join(' ')
      expect(code, line).to.be.oneOf([1, 2])
      expect(stdout + stderr, line).to.not.match(STEERING)
    }
  })
})

/** Without our own colours, which stay where a test runs on a terminal. */
function plain(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replaceAll(/\x1b\[\d+m/g, '')
}
