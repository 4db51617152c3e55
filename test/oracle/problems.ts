import { problemNamed, type Problem } from './problem.js'

/** The problems that PyTorch has been asked, by the name of their fixture. */
export const PROBLEMS: ReadonlyMap<string, () => Problem> = new Map([
  ['lenet', () => problemNamed('lenet', { batch: 16 })],
  ['resnet20', () => problemNamed('resnet20', { batch: 8 })]
])
