// The time of a run, in the sandbox: that of its history, the same in every replay. It goes on when something has come, and not between.

/* eslint-disable no-restricted-globals -- Elsewhere in workflows it would be the clock. */
export function runTime(): Date {
  return new Date()
}

/** @param ms since 1970. */
export function timeAt(ms: number): Date {
  return new Date(ms)
}
