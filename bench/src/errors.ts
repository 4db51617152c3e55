/** The project's error class and its helpers, without the rest of the project. */
export { ArbalestError, invalidOption, unknownName } from '../../dist/src/errors.js'
