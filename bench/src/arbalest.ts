/** The project as its users have it: the public API and nothing else. */
export * from '../../dist/src/index.js'
