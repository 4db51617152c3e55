import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT, run } from './support/arbalest.js'
import { eachInTurn } from './support/refusals.js'

/** Arguments, and what the one line on stderr must say. */
const REFUSED: readonly (readonly [readonly string[], RegExp])[] = [
  [[], /INVALID_OPTION: command: received none; use one of train, .*\n$/],
  [['trian'], /^UNKNOWN_NAME: .*'trian'.*train.*; see `arbalest --help`\n$/],
  [['--fast'], /^UNKNOWN_NAME: .*'--fast'; see `arbalest --help`\n$/],
  [['--steps', 'train'], /^INVALID_OPTION: --steps: received before train; put it behind: arbalest train --steps\n$/],
  [['--fast', 'train'], /^UNKNOWN_NAME: unknown option '--fast'; see `arbalest train --help`\n$/],
  [['train', '--batchh', '3'], /^UNKNOWN_NAME: .*--batchh.*--batch.*; see `arbalest train --help`\n$/],
  [['train', '--batch'], /^INVALID_OPTION: .*--batch/],
  [['train', '--batch', '12x'], /^INVALID_OPTION: --batch: received "12x"; use a whole number\n$/],
  [['train', '--batch', '1.5'], /^INVALID_OPTION: --batch: received "1.5"/],
  [['train', '--batch', '0'], /^INVALID_OPTION: --batch: received 0; /],
  [['train', '--steps', ''], /^INVALID_OPTION: --steps: received ""/],
  [['train', '--learning-rate', '0,1'], /^INVALID_OPTION: --learning-rate: received "0,1"; use a number\n$/],
  [['train', '--learning-rate', '1e400'], /^INVALID_OPTION: --learning-rate: received "1e400"/],
  [['train', '--learning-rate', '-1'], /^INVALID_OPTION: --learning-rate: received -1; /],
  [['train', '--weight-decay', '-1'], /^INVALID_OPTION: --weight-decay: received -1; /],
  [
    ['train', '--layers', '2'],
    /^INVALID_OPTION: --layers: received 2; leave it out: only model gpt, lstm, gru, text-classifier, vit-tiny, vit-small, vit-base has it\n$/
  ],
  [['train', '--model', 'lenett'], /^UNKNOWN_NAME: --model: received "lenett"; use one of .*lenet/],
  [['train', '--checkpoint-period', '30'], /^INVALID_OPTION: --checkpoint-dir: received nothing; /],
  [
    ['train', '--data', './no/folder'],
    /^INVALID_OPTION: --data: received ".\/no\/folder"; there is no such file or folder: check the path\n$/
  ],
  [
    ['train', '--data', 'no-such-table.csv', '--target', 'price', '--text', 'words'],
    /^INVALID_OPTION: --data: received "no-such-table.csv"; there is no such file or folder: check the path\n$/
  ],
  [
    ['train', '--data', 'no-such-text.txt'],
    /^INVALID_OPTION: --data: received "no-such-text.txt"; there is no such file or folder: check the path\n$/
  ],
  [['train', '--data', 'package.json/'], /^INVALID_OPTION: --data: received "package.json\/"; there is no such file or folder/],
  [['train', '--data', 'package.json'], /^INVALID_OPTION: --data: received "package.json"; it is a file: name a folder of images or texts/],
  [
    ['train', '--data', './package.json'],
    /^INVALID_OPTION: --data: received ".\/package.json"; it is a file: name a folder of images or texts, a text \(.txt\) or a table/
  ],
  [
    ['train', '--log', 'a/run', '--trace', './a/../a/run'],
    /^INVALID_OPTION: --trace: received .*; --log names the same file: use another\n$/
  ],
  [
    ['train', '--trace', 'model.onnx', '--save', 'model.onnx'],
    /^INVALID_OPTION: --save: received "model.onnx"; --trace names the same file/
  ],
  [['runs', '--plot', 'curves.png'], /^INVALID_OPTION: --plot: received "curves.png"; plots are SVG: end the name in .svg\n$/],
  [['train', '--data', 'nmist'], /^UNKNOWN_NAME: --data: received "nmist"; use one of .*mnist/],
  [['train', '--sync', 'none'], /^UNKNOWN_NAME: --synchroniser: received "none"; use one of diloco, .*, sma, /],
  [['train', '--precision', 'f16'], /^UNKNOWN_NAME: --precision: received "f16"/],
  [['train', 'nowhere.ts'], /^INVALID_OPTION: config: received "nowhere.ts"; there is no such file/],
  [['train', 'mnist'], /^INVALID_OPTION: config: received "mnist"; it is data, and no module with options; .*--data mnist\n$/],
  [['train', '--config', '.'], /^INVALID_OPTION: config: received "\."; it is a folder; name a module in it with: export default /],
  [['train', 'lenet'], /^INVALID_OPTION: config: received "lenet"; there is no such file; for the model of this name: --model lenet\n$/],
  [['train', '--config', ''], /^INVALID_OPTION: config: received ""; there is no such file; name a module with: export default [^;]*\n$/],
  [['train', ''], /^INVALID_OPTION: config: received ""; there is no such file; /],
  [['train', 'a.ts', 'b.ts'], /^INVALID_OPTION: too many arguments.*; see `arbalest train --help`\n$/],
  [['train', '--rate', '3'], /^UNKNOWN_NAME: unknown option '--rate'; use --learning-rate\n$/],
  [['train', '--batch_size', '3'], /^UNKNOWN_NAME: unknown option '--batch_size'; use --batch\n$/],
  [['train', '--batch-size=3'], /^UNKNOWN_NAME: unknown option '--batch-size=3'; use --batch\n$/],
  [
    ['train', '--dashboard=true'],
    /^UNKNOWN_NAME: unknown option '--dashboard=true'; a flag that is true or false takes no value: use --dashboard or --no-dashboard\n$/
  ],
  [['doctor', '--json=yes'], /^UNKNOWN_NAME: unknown option '--json=yes'; a flag that is true or false takes no value: use --json\n$/],
  [['train', '--checkpoint-every', '30'], /^UNKNOWN_NAME: unknown option '--checkpoint-every'; use --checkpoint-period\n$/],
  [['train', '--checkpoint', 'kept'], /^UNKNOWN_NAME: unknown option '--checkpoint'; use --checkpoint-dir\n$/],
  [
    ['train', '--learner-options', '{"a":1}'],
    /^INVALID_OPTION: --learner-options: received {"a":1}; leave it out: only a learner of your own takes options\n$/
  ],
  [['train', '--min-delta', '0.1'], /^INVALID_OPTION: --min-delta: received 0\.1; leave it out, or use it together with patience\n$/],
  [['train', '--steps', '99999999999999999999'], /^INVALID_OPTION: --steps: received "9+"; use a whole number up to 9007199254740991\n$/],
  [['train', '--epochs', '1e300'], /^INVALID_OPTION: --epochs: received 1e\+300; use fewer\n$/],
  [['train', '--average-decay', '0.9'], /^INVALID_OPTION: --average: received nothing; choose one of ema, swa, lawa\n$/],
  [
    ['train', '--average', 'swa', '--average-window', '3'],
    /^INVALID_OPTION: --average-window: received 3; leave it out: only lawa has it\n$/
  ],
  [['train', '--push-period', '3'], /^INVALID_OPTION: --push-period: received 3; leave it out: only downpour has it\n$/],
  [['train', '--sync-options', '{"a":1}'], /^INVALID_OPTION: --sync-options: received {"a":1}; use it together with module\n$/],
  [
    ['train', '--sync', 'sma', '--sync-module', 'package.json'],
    /^INVALID_OPTION: --synchroniser: received "sma"; leave it out beside module\n$/
  ],
  [['train', '--data-dir', '/tmp'], /^INVALID_OPTION: --data-dir: received "\/tmp"; leave it out, or name another data set/],
  [['train', '--image-size', '64'], /^INVALID_OPTION: --image-size: received 64; leave it out: digits is no folder of images\n$/],
  [['train', '--devices', '0,4097-4099'], /^INVALID_OPTION: --devices\[0\]\.cores\[1\]: received 4097; use cores of this process: /],
  [['train', '--save', 'model.txt'], /^INVALID_OPTION: --save: received "model.txt"; end it in \.onnx or \.safetensors/],
  [
    ['train', '--resume', 'nowhere', '--checkpoint-dir', join(tmpdir(), `arbalest-none-${process.pid}`)],
    /^INVALID_OPTION: --resume: received "nowhere"; no checkpoint is there/
  ],
  [['explain', 'lenet', '--gflops', '-1'], /^INVALID_OPTION: --gflops: received "-1"; use a number above 0\n$/],
  [['doctor', '--fast'], /^UNKNOWN_NAME: .*--fast.*; see `arbalest doctor --help`\n$/]
]

describe('The command line', () => {
  let refused: Awaited<ReturnType<typeof eachInTurn>>
  before(async () => (refused = await eachInTurn(REFUSED.map(([args]) => args))))

  for (const [i, [args, complaint]] of REFUSED.entries()) {
    it(`refuses \`arbalest ${args.join(' ')}\` with status 2 and one line`, () => {
      const { code, stdout, stderr } = refused[i]!
      expect(code, stderr).to.equal(2)
      expect(stderr).to.match(complaint)
      if (args.length > 0) expect(stderr.trimEnd()).to.not.include('\n')
      expect(stdout).to.equal('')
    })
  }

  it('says behind the help which command is missing or not known, among those that may stand there', async () => {
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [['help', 'trian'], /\nUNKNOWN_NAME: command: received "trian"; use one of crossover, .*; did you mean train\?\n$/],
      [['data'], /\nINVALID_OPTION: data: received none; use one of get, check\n$/],
      [['ctl', '--job', '3'], /\nINVALID_OPTION: ctl: received none; use one of status, .*\n$/],
      [['ctl', 'help', 'puase'], /\nUNKNOWN_NAME: ctl: received "puase"; use one of measure, .*; did you mean pause\?\n$/]
    ]
    const all = await eachInTurn(cases.map(([args]) => args))
    for (const [i, [, complaint]] of cases.entries()) {
      expect(all[i]!.code).to.equal(2)
      expect(all[i]!.stderr).to.match(complaint)
    }
  })

  it('tells every option at fault at once, each as it was typed, a line each', async () => {
    const { code, stderr } = await run(['train', '--learning-rate', '-1', '--batch', '0', '--alpha', '2'])
    expect(code).to.equal(2)
    expect(stderr.trimEnd().split('\n')).to.deep.equal([
      'INVALID_OPTION: 3 options cannot be used as they are:',
      '  --batch: received 0; use a whole number from 1 to 1048576',
      '  --learning-rate: received -1; use a number above 0',
      '  --alpha: received 2; use a number above 0 and below 1'
    ])
  })

  it('tells a refusal on stdout as well where JSON was asked for', async () => {
    const { code, lines } = await run(['train', '--batchh', '3', '--json'])
    expect(code).to.equal(2)
    expect(lines).to.have.length(1)
    expect(lines[0]).to.include({ event: 'failed', code: 'UNKNOWN_NAME' })
  })

  it('shows a stack only where it is asked for', async () => {
    const args = ['train', '--model', 'lenett']
    expect((await run(args)).stderr).to.not.include('    at ')
    expect((await run([...args, '--stack'])).stderr).to.include('    at ')
    for (const each of [
      ['data', 'check', 'nowhere'],
      ['repl', 'nowhere.ts']
    ])
      expect((await run([...each, '--stack'])).stderr, each[0]).to.match(/received "nowhere(\.ts)?";.*\n.*    at /)
    expect((await run(args, { env: { ARBALEST_STACK: '1' } })).stderr).to.include('    at ')
  })

  it('explains itself and each command', async () => {
    const [all, train, doctor] = await Promise.all([run(['--help']), run(['train', '--help']), run(['doctor', '--help'])])
    for (const { code, stderr } of [all, train, doctor]) expect([code, stderr]).to.deep.equal([0, ''])
    expect(all.stdout).to.include('train').and.include('doctor').and.include('Exit codes')
    for (const word of ['--model', 'resnet20', 'cifar-10', '--sync-momentum', '--json', 'Examples']) expect(train.stdout).to.include(word)
    expect(doctor.stdout).to.include('--json')
  })

  it('says of `--data` what it is for: a model is described by it, or measured on it', async () => {
    const [measured, described] = await Promise.all([run(['eval', '--help']), run(['predict', '--help'])])
    const said = ({ stdout }: { stdout: string }) => stdout.replaceAll(/\s+/g, ' ')
    expect(said(measured))
      .to.match(
        /--data <name> the data set to measure on: digits, .*tinyshakespeare, the path of a \.txt file, a folder of images, or a table \(digits if the model takes them\)/
      )
      .and.not.include('whose shapes')
    expect(said(described)).to.match(/--data <name> the data set whose shapes, classes and normalisation the model has: digits, /)
  })

  it('tells the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string }
    expect(await run(['--version'])).to.include({ code: 0, stdout: `${version}\n` })
  })
})
