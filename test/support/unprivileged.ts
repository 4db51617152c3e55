/** Nobody's number. */
const NOBODY = 65534

/** Does it as a user to whom the permissions of files apply, where the tests are root's. */
export async function unprivileged(work: () => Promise<void>): Promise<void> {
  const root = process.geteuid?.() === 0
  if (root) process.seteuid!(NOBODY)
  try {
    await work()
  } finally {
    if (root) process.seteuid!(0)
  }
}
