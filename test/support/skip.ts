/** Skips the test that runs, with a reason that the test run's last lines repeat. */
export function skip(context: Mocha.Context, reason: string): never {
  const test = context.test as (Mocha.Runnable & { skipReason?: string }) | undefined
  if (test) test.skipReason = reason
  return context.skip()
}
