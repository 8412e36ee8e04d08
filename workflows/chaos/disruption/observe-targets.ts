// The target observer: emits Events about targets that get into trouble while they are disturbed. Operators enable it
// with `enableObserver`. Source: spec/chaos.md 1.10.
//
// T1. The observer uses the targets that the choosing step has read, and reads only Events in addition. With static
//   targeting, where choosing reads nothing, it reads the pods that the selectors match.
// T2. The next status write records the reported reasons. If the pass fails before this write, the next pass emits the
//   same Events again, which the API server merges.
// T3. For a pod that is being deleted the observer reports neither trouble nor recovery, and keeps its recorded state.
// T4. The observer emits each Event on the Disruption and on the target, because owners of targets do not know the
//   Disruption. It ignores its own Events on targets (pass.ts).
// H1. The pass that first finds all chaos pods ready reads no Events, because most Disruptions need no further pass
//   before they end. A later Event wakes another pass, or the recheck finds it while it applies.
// H2. If the API server refuses to list Events, as with the roles of an older release, the observer reports everything
//   else. Reasons that came from Warnings stay recorded until a pass can read Events
//   (`TargetObservation.warningsRead`).

import { action, done, later, orElse } from '../../kit/index.ts'
import { kindNamesOf } from '../contract.ts'
import { type EventOnTarget, observeTargetStates, type TargetStates } from './target-events.ts'
import { injectionKey, type Target } from './observed.ts'
import { configOf, type DisruptionPass, isOfNodes, specOf, statusIn, injectionStatusIn } from './pass.ts'
import { timestampMs } from '../timestamp.ts'
import { WARNING_TTL_MS, type PodWarning, withWarnings } from './trouble.ts'

// The targets that an earlier step of the pass has read (T1).
const targetsReadIn = new WeakMap<DisruptionPass, readonly Target[]>()

/** Records the targets that this pass has read. */
export function rememberTargets(pass: DisruptionPass, targets: readonly Target[]): readonly Target[] {
  targetsReadIn.set(pass, targets)
  return targets
}

/** The targets that this pass has read, by name; undefined if it has read none. */
export function targetsByName(pass: DisruptionPass): ReadonlyMap<string, Target> | undefined {
  const targets = targetsReadIn.get(pass)
  return targets && new Map(targets.map((target) => [target.metadata.name, target]))
}

export const observeTargets = action<DisruptionPass>('observeTargets', async (pass) => {
  const { act, status, target } = pass
  const { targets = [], targetStates: before = {} } = statusIn(pass)
  const previousTargets = target.status?.targets ?? []
  const names = new Set([...targets, ...previousTargets])
  if (!configOf(pass).controller.enableObserver || names.size === 0) return done
  const levelNode = isOfNodes(specOf(pass))
  // A node of a nodeFailure fails on purpose.
  if (levelNode && specOf(pass).nodeFailure !== undefined) return done
  const found = (await readTargets(pass, levelNode)).filter(({ metadata }) => names.has(metadata.name))
  const disturbed = disturbedTargets(pass)
  // T3
  const deleting = found.filter(({ isDeleting }) => isDeleting === true)
  const { withTrouble, warningsRead, next } = addWarnings(
    pass,
    found.filter(({ isDeleting }) => isDeleting !== true),
  )
  const observations = withTrouble.map(({ target: { metadata }, trouble }) => {
    const { name, uid, resourceVersion } = metadata
    const wasTarget = previousTargets.includes(name)
    return {
      name,
      trouble,
      version: `${uid}/${resourceVersion}`,
      isDisturbed: disturbed.has(name),
      wasTarget,
      warningsRead,
    }
  })
  const { states, events, onTargets } = observeTargetStates(observations, before, levelNode ? 'Node' : 'Pod')
  await Promise.all(events.map(async (one) => await act.event(one)))
  await Promise.all(onTargets.map(async (one) => await emitOnTarget(pass, one, found)))
  const newStates = statesOfTargets({ ...recordedStates(deleting, before), ...states }, targets)
  if (Object.keys(newStates).length > 0 || Object.keys(before).length > 0) status.targetStates = copyOfStates(newStates)
  return next
})

/** T3 */
function recordedStates(deleting: readonly Target[], before: TargetStates): TargetStates {
  const names = new Set(deleting.map(({ metadata }) => metadata.name))
  return Object.fromEntries(Object.entries(before).filter(([name]) => names.has(name)))
}

/** T4 */
async function emitOnTarget(
  { act, target: { metadata } }: DisruptionPass,
  { name, message, ...event }: EventOnTarget,
  found: readonly Target[],
): Promise<void> {
  const about = found.find((one) => one.metadata.name === name)
  if (about === undefined) return
  const disruption = `${metadata.namespace}/${metadata.name}`
  await act.event({ ...event, about, message: `target of Disruption ${disruption}: ${message}` })
}

/** T2. Drops the states of former targets. */
function statesOfTargets(states: TargetStates, targets: readonly string[]): TargetStates {
  return Object.fromEntries(Object.entries(states).filter(([name]) => targets.includes(name)))
}

async function readTargets(pass: DisruptionPass, levelNode: boolean): Promise<readonly Target[]> {
  return (
    targetsReadIn.get(pass) ?? rememberTargets(pass, await pass.refresh(levelNode ? 'candidateNodes' : 'candidatePods'))
  )
}

/** The targets with a ready chaos pod of each kind. */
function disturbedTargets(pass: DisruptionPass): ReadonlySet<string> {
  const kinds = kindNamesOf(specOf(pass))
  const ready = pass.state.chaosPods.filter(({ isReady }) => isReady)
  const injected = new Set(ready.map(injectionKey))
  const isDisturbed = (target: string) => kinds.every((kind) => injected.has(injectionKey({ target, does: kind })))
  return new Set(ready.map(({ target }) => target).filter(isDisturbed))
}

function copyOfStates(states: TargetStates) {
  return Object.fromEntries(
    Object.entries(states).map(([name, { restarts, warnings }]) => [
      name,
      { ...(restarts && { restarts: { ...restarts } }), ...(warnings && { warnings: [...warnings] }) },
    ]),
  )
}

const RECHECK_WARNINGS_MS = WARNING_TTL_MS - 60_000

// The Warning Events that an earlier step of the pass has read.
const warningsReadIn = new WeakMap<DisruptionPass, readonly PodWarning[]>()

/** With at most this many targets, the pass lists Events per target; with more, it lists those of the namespace. */
const MAX_LISTS_PER_TARGET = 5

const readWarnings = action<DisruptionPass>('readWarnings', async (pass) => {
  // Former targets of this pass are included. Targets that were chosen in this pass have nothing to report.
  const names = pass.target.status?.targets ?? []
  if (!configOf(pass).controller.enableObserver || isOfNodes(pass.target.spec) || names.length === 0) return done
  if (becomesInjected(pass)) return later(RECHECK_WARNINGS_MS)
  const narrowTo = names.length > MAX_LISTS_PER_TARGET ? undefined : { fields: { 'involvedObject.name': names } }
  warningsReadIn.set(pass, await pass.refresh('podWarnings', narrowTo))
  return done
})

/** H1 */
function becomesInjected(pass: DisruptionPass): boolean {
  const { chaosPods } = pass.state
  return injectionStatusIn(pass) === 'NotInjected' && chaosPods.length > 0 && chaosPods.every(({ isReady }) => isReady)
}

/** H2 */
export const readTargetWarnings = orElse(
  readWarnings,
  action<DisruptionPass>('hearLater', () => later(RECHECK_WARNINGS_MS)),
)

/**
 * Adds the Warning Events to the trouble of each target. @returns also the outcome that rechecks when the first Warning
 * expires.
 */
export function addWarnings(pass: DisruptionPass, found: readonly Target[]) {
  const read = warningsReadIn.get(pass)
  const all = read ?? []
  const warningsRead = read !== undefined || isOfNodes(pass.target.spec)
  const when = { now: pass.now.getTime(), since: timestampMs(pass.target.metadata.creationTimestamp) ?? 0 }
  const withTrouble = found.map((target) => {
    const { trouble, holdsMs } = withWarnings(
      target.trouble,
      all.filter(({ uid }) => uid === target.metadata.uid),
      when,
    )
    return { target, trouble, holdsMs }
  })
  const holds = withTrouble.flatMap(({ holdsMs }) => holdsMs ?? [])
  return { withTrouble, warningsRead, next: holds.length === 0 ? done : later(Math.min(...holds)) }
}
