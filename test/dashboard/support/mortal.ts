/** The module of learners of which number 1 dies after so many steps; its successor does not. They rest for so many milliseconds after each step. */
export function mortal(steps: number, rest = 0): URL {
  return new URL(
    `data:text/javascript,${encodeURIComponent(`export default ({ replica, learner }) => {
  let steps = 0
  return async () => {
    await replica.run(1)
    if (${rest} > 0) await new Promise((rested) => setTimeout(rested, ${rest}))
    if (learner === 1 && ++steps === ${steps}) throw new Error('told to die')
  }
}`)}`
  )
}
