/** The module of learners of which number 1 dies after so many steps; its successor does not. */
export function mortal(steps: number): URL {
  return new URL(
    `data:text/javascript,${encodeURIComponent(`export default ({ replica, learner }) => {
  let steps = 0
  return async () => {
    await replica.run(1)
    if (learner === 1 && ++steps === ${steps}) throw new Error('told to die')
  }
}`)}`
  )
}
