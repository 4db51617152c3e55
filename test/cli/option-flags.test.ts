import { expect } from 'chai'
import { Command, Option } from 'commander'
import { OptionFlags } from '../../src/cli/option-flags.js'
import { addTrainFlags } from '../../src/cli/train-flags.js'
import { explainOptions } from '../../src/options/explain.js'
import { topics, trainOptions } from '../../src/options/train-options.js'
import { summariesOf } from '../../src/schema/options-in.js'
import { thrown } from '../support/thrown.js'

const IMAGES = 'how the images of a folder are read belongs to the data, and is written once in a config'
const TUNING = '--learners takes the bounds of tuning together, as JSON'
const SUPERVISION = 'limits for failing learners suit a machine, and are written once in a config'

/** The options that a text could give and that have no flag, each with the reason. */
const WITHOUT_FLAG: Readonly<Record<string, string>> = {
  'initialWeights.strict': 'a file that does not fit needs names, which only a config can give',
  ...Object.fromEntries(
    ['name', 'mean', 'std', 'flip', 'resize', 'stretch', 'testFraction', 'seed', 'check', 'threads', 'prefetch', 'cache'].map((name) => [
      `images.${name}`,
      IMAGES
    ])
  ),
  ...Object.fromEntries(['initial', 'max', 'threshold', 'window'].map((name) => [`learners.${name}`, TUNING])),
  ...Object.fromEntries(['restarts', 'window', 'deadline'].map((name) => [`supervision.${name}`, SUPERVISION])),
  'table.seed': 'which rows are held out is written once in a config',
  onEvaluatedDeadline: 'onEvaluated is a function, which only a program or a config can give'
}

const all = summariesOf(trainOptions.entries)
const flagged = all.filter(({ flag }) => flag !== undefined)

function parsed(add: (command: Command) => void, args: readonly string[]): Record<string, unknown> {
  const command = new Command().exitOverride()
  add(command)
  return command.parse(args, { from: 'user' }).opts()
}

describe('The flags of options', () => {
  it('are given to every option for whose value a text can stand, but for a few with a reason', () => {
    const without = all.filter(({ flag, fromText }) => flag === undefined && fromText)
    expect(without.map(({ path }) => path)).to.have.members(Object.keys(WITHOUT_FLAG))
  })

  it('are distinct, and each puts its value into the place of its option', () => {
    const flags = new OptionFlags(trainOptions.entries)
    const names = flagged.map(({ flag }) => new Option(flag!).long)
    expect(new Set(names).size).to.equal(names.length)
    const texts = ['7', 'a', '{"a":1}']
    for (const { path, flag, fromText } of flagged) {
      const { long, required, variadic } = new Option(flag!)
      const text = texts.find((each) => !fromText || isRead(() => fromText(each, (fix) => new Error(fix))))!
      const values = parsed((command) => flags.addTo(command), required ? [long!, text] : [long!])
      const wanted = variadic ? [text] : required ? (fromText?.(text, (fix) => new Error(fix)) ?? text) : true
      const found = path.split('.').reduce<unknown>((options, name) => (options as Record<string, unknown>)[name], flags.over({}, values))
      expect(found, path).to.deep.equal(wanted)
      expect(Object.keys(flags.over({}, values)), path).to.deep.equal([path.split('.')[0]])
    }
  })

  it('take numbers, lists and JSON, and say what a text should be that is none', () => {
    const train = (...args: string[]) => new OptionFlags(trainOptions.entries).over({}, parsed(addTrainFlags, args))
    expect(train('--learner-options', '{"beta": 0.5}')).to.deep.equal({ learnerOptions: { beta: 0.5 } })
    expect(train('--monitor', 'loss')).to.deep.equal({ until: { monitor: 'loss' } })
    expect(train('--on-bad-image', 'skip')).to.deep.equal({ images: { onBadImage: 'skip' } })
    expect(train('--lr', '1e-3', '--milestones', '2,3.5')).to.deep.equal({ optimiser: { learningRate: 0.001, milestones: [2, 3.5] } })
    expect(train('--freeze', 'a,b.*', '--reinitialise', 'fc', 'head')).to.deep.equal({
      freeze: ['a', 'b.*'],
      initialWeights: { reinitialise: ['fc', 'head'] }
    })
    expect(thrown(() => train('--milestones', '2,x')).message).to.equal('--milestones: received "2,x"; use a number')
    expect(thrown(() => train('--learner-options', '{')).message).to.match(/^--learner-options: received "\{"; it is not valid JSON: /)
    const explain = new OptionFlags(explainOptions.entries)
    const explained = parsed((command) => explain.addTo(command), ['--gflops', '2', '--input', '3x8x8'])
    expect(explain.over({}, explained)).to.deep.equal({ flopsPerSecond: 2e9, input: [3, 8, 8] })
  })

  it('keep the port that a config gives the page, and refuse a port for a page that is not to be', () => {
    const flags = new OptionFlags(trainOptions.entries)
    const over = (config: object, ...args: string[]) => flags.over(config, parsed(addTrainFlags, args))['dashboard']
    const config = { dashboard: { port: 9472 } }
    expect(over(config, '--dashboard')).to.deep.equal({ port: 9472 })
    expect(over(config, '--dashboard', '--dashboard-port', '9471')).to.deep.equal({ port: 9471 })
    expect(over(config, '--no-dashboard')).to.equal(false)
    expect(over({ dashboard: false }, '--dashboard-port', '9471')).to.deep.equal({ port: 9471 })
    const refused = thrown(() => over({}, '--no-dashboard', '--dashboard-port', '9471'))
    expect(refused).to.include({ code: 'INVALID_OPTION' })
    expect(refused.message).to.equal('dashboard.port: received 9471; omit it, or --no-dashboard')
  })

  it('name an option as it is typed, also what is below it', () => {
    const flags = new OptionFlags(trainOptions.entries)
    expect(flags.nameOf('optimiser.learningRate')).to.equal('--learning-rate')
    expect(flags.nameOf('learners.schedule[0].round')).to.equal('--learners.schedule[0].round')
    expect(flags.nameOf('devices[1].cores[0]')).to.equal('--devices[1].cores[0]')
    expect(flags.nameOf('images.flip')).to.equal(undefined)
    expect(flags.nameOf('batch', { epochs: 3 })).to.equal(undefined)
    expect(flags.nameOf('batch', { batch: 3 })).to.equal('--batch')
  })

  it('come in groups, and first the ten that most runs need', () => {
    const command = new Command()
    addTrainFlags(command)
    const groups = [...new Set(command.options.map(({ helpGroupHeading }) => helpGroupHeading))]
    expect(groups).to.deep.equal([
      'What most runs need:',
      ...Object.keys(topics).map((topic) => `${topic}:`),
      'Config:',
      'Output and help:'
    ])
    const first = command.options.filter(({ helpGroupHeading }) => helpGroupHeading === groups[0])
    expect(first.map(({ long }) => long)).to.deep.equal([
      '--model',
      '--data',
      '--batch',
      '--learners',
      '--optimiser',
      '--learning-rate',
      '--synchroniser',
      '--epochs',
      '--checkpoint-dir',
      '--save'
    ])
  })
})

function isRead(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}
