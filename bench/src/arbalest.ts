/** The project as the bench sees it: the public API, and the errors that it shares. */
export * from '../../dist/src/index.js'
export { ArbalestError, invalidOption, shown, unknownName } from '../../dist/src/errors.js'
