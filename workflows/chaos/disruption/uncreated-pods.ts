// The reasons why a pass could not create chaos pods. The step that creates chaos pods records them; the step that
// writes the injection status reads them.

import { injectionKey } from './observed.ts'
import type { DisruptionPass } from './pass.ts'

type Injected = Parameters<typeof injectionKey>[0]

const reasonsIn = new WeakMap<object, ReadonlyMap<string, string>>()

/** The beginning of `status.targetInjections.TARGET.KIND.message` when no chaos pod exists. */
export const UNCREATED = 'no chaos pod: '

export function rememberUncreated(pass: DisruptionPass, injection: Injected, reason: string): void {
  reasonsIn.set(pass, new Map([...uncreatedIn(pass), [injectionKey(injection), reason]]))
}

/** The reasons of this pass, by `injectionKey`. */
export function uncreatedIn(pass: DisruptionPass): ReadonlyMap<string, string> {
  return reasonsIn.get(pass) ?? new Map()
}
