import { answerWindows } from './answer-windows.js'
import { engine } from './internals.js'

/** The fused multiply-adds of one core; the unit of work is a floating-point operation. */
await answerWindows({}, () => ({ work: engine.measurePeak(), seconds: 1 }))
