import { expect } from 'chai'
import { LauncherMessages } from '../../../src/cli/launch/launcher-messages.js'

const LINE = '-'.repeat(74)

/** As the launchers wrote them. */
const KILLED = {
  'Open MPI 5': [LINE, 'prterun noticed that process rank 1 with PID 23055 on node node2 exited on', 'signal 9 (Killed).', LINE],
  'Open MPI 4': [
    LINE,
    'Primary job  terminated normally, but 1 process returned',
    'a non-zero exit code. Per user-direction, the job has been aborted.',
    LINE,
    LINE,
    'mpirun.openmpi noticed that process rank 1 with PID 0 on node node2 exited on signal 9 (Killed).',
    LINE
  ],
  MPICH: [
    '',
    '='.repeat(83),
    '=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES',
    '=   PID 23382 RUNNING AT node2',
    '=   EXIT CODE: 9',
    '=   CLEANING UP REMAINING PROCESSES',
    '=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES',
    '='.repeat(83),
    'YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)',
    'This typically refers to a problem with your application.',
    'Please see the FAQ page for debugging suggestions'
  ]
}

const FAILED_5 = [
  LINE,
  'prterun detected that one or more processes exited with non-zero status,',
  'thus causing the job to be terminated. The first process to do so was:',
  '',
  '   Process name: [prterun-vm-23148@1,1]',
  '   Exit code:    3',
  LINE
]

/** Of Open MPI, which goes on after the loss of rank 2 until a message to it fails that rank 1 had sent before. */
const ENDED_BY_MPI = [
  ...[
    'An error occurred in Send error after request freed',
    'reported by process [1827536897,1]',
    'on a NULL communicator',
    'MPI_ERR_REQUEST: invalid request',
    'MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,',
    '   and MPI will try to terminate your MPI job as well)'
  ].map((text) => `[node2:00000] *** ${text}`),
  '\0'
]

function read(lines: readonly string[]) {
  const messages = new LauncherMessages()
  const shown = lines.filter((line) => messages.isShown(line))
  return { messages, shown }
}

describe('The messages of a launcher', () => {
  for (const [launcher, lines] of Object.entries(KILLED))
    it(`of ${launcher} tell which process was killed, and are not shown`, () => {
      const { messages, shown } = read(['a line of a process', ...lines])
      expect(shown.filter((line) => line !== '')).to.deep.equal(['a line of a process'])
      expect(messages.lost).to.include({ host: 'node2', signal: 'SIGKILL' })
      if (launcher !== 'MPICH') expect(messages.lost?.rank).to.equal(1)
      expect(messages.codes.size).to.equal(0)
    })

  it('of MPICH are found on stdout too, between the lines of the run', () => {
    const messages = new LauncherMessages()
    const shown = ['{"event":"started"}', ...KILLED.MPICH.slice(1), '{"event":"progress"}'].flatMap((line) => messages.shownOnStdout(line))
    expect(shown).to.deep.equal(['{"event":"started"}', '{"event":"progress"}'])
    expect(messages.lost).to.deep.equal({ host: 'node2', signal: 'SIGKILL' })
  })

  it('of Open MPI on stdout, of a host that it does not reach, are not shown either', () => {
    const messages = new LauncherMessages()
    const frame = '-'.repeat(60)
    const lines = [
      'first',
      frame,
      'A daemon failed to report back after being spawned. This could',
      '  Remote host:   node9',
      frame,
      'last'
    ]
    expect(lines.flatMap((line) => messages.shownOnStdout(line))).to.deep.equal(['first', 'last'])
    expect(messages.firstSentence).to.equal('A daemon failed to report back after being spawned')
  })

  it('are told from what the processes write: rules across the page, and words in brackets', () => {
    const messages = new LauncherMessages()
    const lines = [LINE, 'my experiment', '='.repeat(70), LINE, '[worker:1] is ready', 'loss 0.1', LINE]
    expect([...lines.flatMap((line) => messages.shownOnStdout(line)), ...messages.endOfStdout()]).to.deep.equal(lines)
  })

  it('never hide the error of a process', () => {
    const { shown, messages } = read([LINE, 'a rule of the user above', 'HOST_LOST: host 1: it is gone'])
    expect(shown).to.deep.equal(['HOST_LOST: host 1: it is gone'])
    expect([...messages.codes]).to.deep.equal(['HOST_LOST'])
  })

  it('of a process that failed by itself tell of no loss', () => {
    const { messages, shown } = read(['DATA_NOT_FOUND: data: received "x"', ...FAILED_5])
    expect(shown).to.deep.equal(['DATA_NOT_FOUND: data: received "x"'])
    expect([...messages.codes]).to.deep.equal(['DATA_NOT_FOUND'])
    expect(messages.lost).to.equal(undefined)
  })

  it('tell which process MPI itself has ended, and why', () => {
    const { messages, shown } = read(ENDED_BY_MPI)
    expect(shown).to.deep.equal([])
    expect(messages.lost).to.deep.equal({ rank: 1, host: 'node2', error: 'MPI_ERR_REQUEST: invalid request' })
  })

  it('tell of no loss where MPI cannot begin, but what it says', () => {
    const { messages } = read(ENDED_BY_MPI.map((line) => line.replace('Send error after request freed', 'MPI_Init_thread')))
    expect(messages.lost).to.equal(undefined)
    expect(messages.firstSentence).to.match(/^An error occurred in MPI_Init_thread reported by process /)
  })

  it('show an error that several processes report once', () => {
    const { shown, messages } = read(['HOST_LOST: hosts: rank 2', 'INVALID_OPTION: --batch: received 0', 'HOST_LOST: hosts: rank 2'])
    expect(shown).to.have.length(2)
    expect([...messages.codes]).to.deep.equal(['HOST_LOST', 'INVALID_OPTION'])
  })

  it('give the first sentence for an end that nothing else explains', () => {
    const { messages } = read([
      LINE,
      'There are not enough slots available in the system to satisfy the 9',
      'slots that were requested by the application:',
      LINE
    ])
    expect(messages.firstSentence).to.equal(
      'There are not enough slots available in the system to satisfy the 9 slots that were requested by the application'
    )
  })
})
