/** Whether cases are tested that repeat what others show, in another combination or at a larger scale: a slow file sets this, and then imports the tests. */
export const seldom = { tested: false }

/** These cases in a `….slow.test.ts`, and none of them in the usual tests. */
export function ifSeldom<T>(...cases: T[]): T[] {
  return seldom.tested ? cases : []
}

/** `it` in a `….slow.test.ts`. */
export function itSeldom(title: string, test: Mocha.Func | Mocha.AsyncFunc): void {
  if (seldom.tested) it(title, test)
}
