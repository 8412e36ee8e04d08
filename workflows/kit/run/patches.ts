// The ids given to Temporal's `patched()`, one table for all workflows, so that none is reused and old ones are seen.
// An entry says what changed, since which release, and when it may go: after the last history without it has been pruned.
// Endless loops get new code by continue-as-new at the end of a pass, so a patch is the exception.

/** Empty: no released history needs a patch yet. */
export const PATCHES = {} as const satisfies Record<string, string>
