// How iptables says, in either of its two makes, that what it was to remove is not there.

import type { GoneAnswer } from '../command.ts'

/** Of a rule, whose chain may be missing too. */
export const RULE_GONE: readonly GoneAnswer[] = [
  { code: 1, says: 'No chain/target/match by that name' },
  { code: 1, says: 'does a matching rule exist' },
  { code: 2, says: "Couldn't load target" },
  { code: 2, says: 'does not exist' },
]

export const CHAIN_GONE: readonly GoneAnswer[] = [
  { code: 1, says: 'No chain/target/match by that name' },
  { code: 1, says: 'is incompatible, use' },
]
