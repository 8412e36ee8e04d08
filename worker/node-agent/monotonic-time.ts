/**
 * A clock in milliseconds since the epoch that never runs backwards: it follows the machine's clock forward, and the
 * monotonic clock when the machine's clock is set back. Deadlines and grace periods of pods depend on it.
 *
 * @param now the machine's clock.
 * @param steady milliseconds of the monotonic clock.
 */
export function monotonicTime(
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
