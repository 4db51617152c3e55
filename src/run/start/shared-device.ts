import type { Handle } from '../../engine/contract.js'
import type { Admission } from '../memory/admission.js'

/** A device on which several jobs take turns, and this job's place there. */
export interface SharedDevice {
  readonly lease: Handle
  readonly job: number
  /** The rated link that the jobs share, if theirs is rated. */
  readonly link?: Handle
  readonly admission: Admission
  /** Resolves when the jobs before this one have ended, where they train one after the other. */
  readonly begins?: Promise<unknown>
}
