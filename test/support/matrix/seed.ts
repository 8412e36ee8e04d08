// The seed of all random choices of a test run. vitest.config.ts reads it once, so that all test processes use the same one.

import { execFileSync } from 'node:child_process'

/** Range of seeds: what fast-check accepts. */
const RANGE = 2 ** 31

/** Used where neither `PAWL_SEED` nor a Git commit exists, for example in an unpacked archive. */
const DEFAULT_SEED = 1

/**
 * Reads `PAWL_SEED`. Without it, the seed is computed from the Git commit that is checked out: each commit runs other cases of the test matrices, and a
 * repeated run of one commit runs the same cases.
 *
 * @throws if `PAWL_SEED` is not an integer from 0 to 2147483647.
 */
export function readSeed(): number {
  const text = process.env['PAWL_SEED']
  if (text === undefined) return seedOfCommit()
  const seed = Number(text)
  if (Number.isInteger(seed) && seed >= 0 && seed < RANGE) return seed
  throw new Error(`PAWL_SEED is "${text}"; expected an integer from 0 to ${RANGE - 1}`)
}

function seedOfCommit(): number {
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    return Number.parseInt(commit.slice(0, 8), 16) % RANGE
  } catch {
    return DEFAULT_SEED
  }
}
