// Time, as the agent has it: graces and deadlines of pods are held, also where the machine's clock is set back.

/**
 * Milliseconds since 1970: a time that follows the machine's clock forward, and goes on by the steady one where that is set back.
 *
 * @param now of the machine's clock.
 * @param steady milliseconds of a clock that nobody sets.
 */
export function heldTime(
  now: () => number = () => Date.now(),
  steady: () => number = () => performance.now(),
): () => number {
  let [at, since] = [now(), steady()]
  return () => {
    const is = steady()
    at = Math.max(now(), at + (is - since))
    since = is
    return at
  }
}
