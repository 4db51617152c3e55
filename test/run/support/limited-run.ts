import { expect } from 'chai'
import { readdir } from 'node:fs/promises'
import { ArbalestError, train, type FinishedEvent, type StartedEvent, type TrainOptions } from '../../../src/index.js'
import { rejection } from '../../support/rejection.js'

/** A run's first and last event. */
export interface LimitedRun {
  readonly started: StartedEvent
  readonly finished: FinishedEvent
}

export async function limitedRun(options: TrainOptions): Promise<LimitedRun> {
  const job = train(options)
  let started: StartedEvent | undefined
  job.on('started', (event) => (started = event))
  const finished = await job.finished
  return { started: started!, finished }
}

/** The least memory within which the run can train, as the refusal of a limit of one byte tells it. */
export async function floorOf(options: TrainOptions): Promise<number> {
  const error = await rejection(train({ ...options, deviceMemory: 1 }).finished)
  if (error instanceof ArbalestError && error.code === 'OUT_OF_MEMORY') return error.data['floor'] as number
  throw error
}

/** Limits between the least and all that the run takes: 0 and 1 are these two. */
export async function limitsOf(options: TrainOptions, parts: readonly number[]): Promise<{ whole: LimitedRun; limits: number[] }> {
  const floor = await floorOf(options)
  const whole = await limitedRun(options)
  const { bytesPerLearner, bytesShared, learners } = whole.started
  const all = bytesShared + learners * bytesPerLearner
  return { whole, limits: parts.map((part) => Math.floor(floor + part * (all - floor))) }
}

/** The options of a run that has to move values: it takes less than what computing again leaves. */
export async function moving(options: TrainOptions, spill?: string): Promise<TrainOptions> {
  const spilling = spill === undefined ? options : { ...options, spill }
  const floor = await floorOf(spilling)
  if (spill !== undefined) expect(floor).to.be.below(await floorOf(options))
  return { ...spilling, deviceMemory: floor }
}

/** A run that moves values to the folder keeps its limit, leaves nothing there, and ends with the weights of a run without a limit. */
export async function expectSameWeightsMoving(options: TrainOptions, spill: string): Promise<void> {
  const whole = await limitedRun(options)
  const limited = await moving(options, spill)
  const { started, finished } = await limitedRun(limited)
  expect(started.movedBytes).to.be.above(0)
  expect(started.predictedSlowdown).to.be.above(1)
  expect(finished.peakDeviceBytes).to.be.at.most(limited.deviceMemory as number)
  expect(finished.weightsSha256).to.equal(whole.finished.weightsSha256)
  expect(await readdir(spill)).to.deep.equal([])
}
