// The two forms of a test matrix: `npm test` runs a sample that changes with the commit, `npm run test:long` (PAWL_LONG=1) runs all cases.
// test/matrices.md lists the matrices.

import { diceOf } from './dice.ts'
import { readSeed } from './seed.ts'

/** True in the long form. */
export const isLong = process.env['PAWL_LONG'] === '1'

/** The seed of this run, from the commit (seed.ts). `PAWL_SEED=<n>` repeats a run. */
export const SEED = readSeed()

/** Returns `long` in the long form, else `short`: sizes, numbers of runs, times. */
export function byForm<Value>(short: Value, long: Value): Value {
  return isLong ? long : short
}

/**
 * Chooses the cases of a matrix that this run executes: all in the long form, else `count` of them by the seed, in their original order.
 *
 * @param matrix name of the matrix; different matrices of a run choose independently.
 * @param always cases for which this returns true are part of each sample, and do not count.
 */
export function sampleOf<Case>(
  matrix: string,
  cases: readonly Case[],
  count: number,
  always: (one: Case) => boolean = () => false,
): readonly Case[] {
  if (isLong) return cases
  const dice = diceOf(SEED + hashOf(matrix))
  const drawn = cases
    .filter((one) => !always(one))
    .map((one) => ({ one, order: dice() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, count)
  const chosen = new Set(drawn.map(({ one }) => one))
  return cases.filter((one) => always(one) || chosen.has(one))
}

/** A number from a text, different for different texts. */
function hashOf(text: string): number {
  let hash = 0
  for (const char of text) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) | 0
  return hash
}
