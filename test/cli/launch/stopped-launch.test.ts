import { expect } from 'chai'
import { PackageCopy } from './support/package-copy.js'

/** A launcher whose processes run until they are asked to stop, and then do this. */
const stoppedWith = (script: string) => `
[ "$1" = --version ] && exit 0
trap '${script.replaceAll("'", `'\\''`)}' USR2
echo '{"event":"started"}'
kill -INT $PPID
while :; do sleep 0.1; done`

const STOPPED = '{"event":"finished","reason":"stopped","checkpoints":"complete"}'
const INCOMPLETE = '{"event":"finished","reason":"stopped","checkpoints":"incomplete"}'
const FAILED = '{"event":"failed","code":"WRITE_FAILED","message":"model.onnx: it cannot be written"}'
const TEXT = 'WRITE_FAILED: model.onnx: it cannot be written'

describe('arbalest launch that is stopped by Ctrl-C', () => {
  let copy: PackageCopy
  before(() => {
    copy = new PackageCopy()
    copy.buildMpi('Open MPI', '5.0.11')
  })
  after(() => copy.remove())

  const stopped = (script: string, ...flags: readonly string[]) => {
    copy.program('mpirun', 'mpirun (Open MPI) 5.0.11', stoppedWith(script))
    const { status, stdout, stderr } = copy.launch(['-n', '2', '--restarts', '2', ...flags, '--', 'train', '--model', 'mlp'])
    return { status, lines: stdout.trimEnd().split('\n'), stderr }
  }

  it('ends with the signal where the run has stopped', () => {
    const { status, lines, stderr } = stopped(`echo '${STOPPED}'; exit 0`, '--json')
    expect(status, stderr).to.equal(130)
    expect(lines.at(-1)).to.equal(STOPPED)
  })

  it('fails where the run fails after the stop, with the line that says so', () => {
    const { status, lines, stderr } = stopped(`echo '${STOPPED}'; echo '${FAILED}'; echo '${TEXT}' >&2; exit 1`, '--json')
    expect(status, stderr).to.equal(1)
    expect(lines.slice(-2)).to.deep.equal([STOPPED, FAILED])
  })

  it('fails so without --json, too', () => {
    const { status, stderr } = stopped(`echo '${TEXT}' >&2; exit 1`)
    expect(status, stderr).to.equal(1)
    expect(stderr).to.include(TEXT)
  })

  it('fails where the run lacks a checkpoint', () => {
    const { status, lines, stderr } = stopped(`echo '${INCOMPLETE}'; exit 1`, '--json')
    expect(status, stderr).to.equal(1)
    expect(lines.at(-1)).to.equal(INCOMPLETE)
  })
})
