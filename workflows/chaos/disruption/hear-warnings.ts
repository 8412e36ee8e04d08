// Reads the Warnings about the targets, for what the observer tells (observe-targets.ts).
//
//   H1. The pass that finds all chaos pods ready reads none: most Disruptions are not looked at again before they end. What came just then wakes another one,
//       or is found by a look while it holds.
//   H2. Where Events cannot be read, as with the roles of a release before, all else is observed; what may have been told by a Warning holds until one can tell
//       that it does not (`SeenTarget.isHeard`).

import { action, done, later, orElse } from '../../kit/index.ts'
import { instantMs } from '../instant.ts'
import type { Target } from './observed.ts'
import { configOf, type DisruptionPass, injectionStatusIn, isOfNodes } from './pass.ts'
import { HOLDS_MS, type PodWarning, withWarnings } from './target-warnings.ts'

const LOOK_AGAIN_MS = HOLDS_MS - 60_000

// What one step of a pass reads and the next one looks at.
const heardIn = new WeakMap<DisruptionPass, readonly PodWarning[]>()

/** Of so many targets each is asked about; of more the whole namespace. */
const MOST_ASKED = 5

const readWarnings = action<DisruptionPass>('readWarnings', async (pass) => {
  // Also of those that are none any more in this pass. Of one that was chosen just now nothing is to be told.
  const names = pass.target.status?.targets ?? []
  if (!configOf(pass).controller.enableObserver || isOfNodes(pass.target.spec) || names.length === 0) return done
  if (isInjectedNow(pass)) return later(LOOK_AGAIN_MS)
  const narrowed = names.length > MOST_ASKED ? undefined : { fields: { 'involvedObject.name': names } }
  heardIn.set(pass, await pass.refresh('podWarnings', narrowed))
  return done
})

/** H1 */
function isInjectedNow(pass: DisruptionPass): boolean {
  const { chaosPods } = pass.state
  return injectionStatusIn(pass) === 'NotInjected' && chaosPods.length > 0 && chaosPods.every(({ isReady }) => isReady)
}

/** H2 */
export const hearWarnings = orElse(
  readWarnings,
  action<DisruptionPass>('hearLater', () => later(LOOK_AGAIN_MS)),
)

/** Adds to what was seen of targets what was heard of them. @returns also that the first which does not hold any more is looked at then. */
export function heardOf(pass: DisruptionPass, found: readonly Target[]) {
  const read = heardIn.get(pass)
  const all = read ?? []
  const isHeard = read !== undefined || isOfNodes(pass.target.spec)
  const when = { now: pass.now.getTime(), since: instantMs(pass.target.metadata.creationTimestamp) ?? 0 }
  const heard = found.map((target) => {
    const { trouble, holdsMs } = withWarnings(
      target.trouble,
      all.filter(({ uid }) => uid === target.metadata.uid),
      when,
    )
    return { target, trouble, holdsMs }
  })
  const holds = heard.flatMap(({ holdsMs }) => holdsMs ?? [])
  return { heard, isHeard, next: holds.length === 0 ? done : later(Math.min(...holds)) }
}
