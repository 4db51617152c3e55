import { answerWindows } from './answer-windows.js'
import { engine } from './internals.js'

/** One core's fused multiply-adds: work is floating-point operations. */
await answerWindows({}, () => ({ work: engine.measurePeak(), seconds: 1 }))
