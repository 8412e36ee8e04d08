// What becomes of a cron whose target resource is missing. Source: spec/chaos.md 2.12.

import { instantMs, instantText } from './instant.ts'

export interface MissingTarget {
  /** For `status.targetResourcePreviouslyMissing`; undefined: it is there. */
  readonly since: string | undefined
  /** It is missing for so long that it will not come again. */
  readonly isGivenUp: boolean
}

export function missingTarget(
  isThere: boolean,
  known: string | undefined,
  { nowMs, thresholdMs }: { readonly nowMs: number; readonly thresholdMs: number },
): MissingTarget {
  if (isThere) return { since: undefined, isGivenUp: false }
  const sinceMs = instantMs(known)
  if (known === undefined || sinceMs === undefined) return { since: instantText(nowMs), isGivenUp: false }
  return { since: known, isGivenUp: nowMs - sinceMs > thresholdMs }
}
