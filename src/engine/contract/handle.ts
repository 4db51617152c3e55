/**
 * The number of an object in the engine. It may be posted to another thread: all threads of the process share the object, which is destroyed when every
 * thread that holds it has released it or ended.
 */
export type Handle = number & { readonly __handle?: unique symbol }
