/** The public API, as a user imports it. */
export * from '../../dist/src/index.js'
