// When a bridge is ready: every kind is caught up, or another bridge follows it.

import type { Readiness } from '../server/health.ts'
import type { Reflector } from './reflector.ts'

export function caughtUp(reflectors: readonly Reflector[]): Readiness {
  return { word: 'behind', wrong: () => notCaughtUp(reflectors) }
}

/** The kinds that are not caught up, with what they are doing. */
export function notCaughtUp(reflectors: readonly Reflector[]): Record<string, string> {
  return Object.fromEntries(
    reflectors.flatMap((reflector) => {
      const behind = reflector.behind()
      return behind === undefined ? [] : [[reflector.kind, behind]]
    }),
  )
}
