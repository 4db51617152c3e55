import { expect } from 'chai'
import { describeCuda } from '../../../src/engine/cuda.js'
import type { LevelSpec } from '../../../src/engine/contract.js'
import type { GroupPlan, GroupRun } from './group-run.js'

export const DEVICES: LevelSpec = { kind: 'devices' }
export const HOSTS: LevelSpec = { kind: 'loopback', latency: 0 }

export type Levels = Required<Pick<GroupPlan, 'devices' | 'levels'>>

/** Two and three levels: learners and hosts; learners and devices; all three, in either order. */
export const LEVELS: Record<string, Levels> = {
  'one device, hosts': { devices: 1, levels: [HOSTS] },
  'two devices': { devices: 2, levels: [DEVICES] },
  'two devices, hosts': { devices: 2, levels: [DEVICES, HOSTS] },
  'hosts, two devices': { devices: 2, levels: [HOSTS, DEVICES] },
  'three devices': { devices: 3, levels: [DEVICES] },
  'three devices, hosts': { devices: 3, levels: [DEVICES, HOSTS] }
}
export const THREE = LEVELS['two devices, hosts']!

/** All devices have the first one's central model. */
export function expectEqualCopies(run: GroupRun, devices: number, what: string): void {
  const first = run.centralOn(0)
  for (let device = 1; device < devices; device++) expect(run.centralOn(device), `device ${device}, ${what}`).to.deep.equal(first)
}

/** How many devices a group can have: as many as there are GPUs, where they are what is tested. */
export function mostDevices(backend: string): number {
  if (backend !== 'cuda') return Infinity
  const report = describeCuda()
  return typeof report === 'string' ? 0 : report.devices.length
}
