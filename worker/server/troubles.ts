// What the last contact with each server came to, for /readyz of processes that are ready while all answer.

import type { Readiness } from './health.ts'

export interface Troubles extends Readiness {
  /** What the last contact with a part came to; undefined = fine. */
  readonly report: (part: string, error: unknown) => void
}

export function createTroubles(): Troubles {
  const troubles = new Map<string, string>()
  return {
    word: 'troubles',
    wrong: () => Object.fromEntries(troubles),
    report(part, error) {
      if (error === undefined) troubles.delete(part)
      else troubles.set(part, error instanceof Error ? error.message : 'no answer')
    },
  }
}
