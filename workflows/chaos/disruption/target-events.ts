// Decides which Events report the trouble and the recovery of targets: a pure function of the previous and the current
// observation. Source: spec/chaos.md 1.10.
//
// O1. Each change is reported once: the status keeps the reported reasons until the trouble ends.
// O2. A recovery is reported when nothing is wrong with a target any more and a Warning was reported before.
// O3. Restarts are counted from the first observation of a target, or from the last report.
// O4. A reason that came from Warning Events ends only when a pass has read Events and no Event mentions it.
// O5. Targets with the same trouble share one Event on the Disruption, which names the first of them. Up to
//   `MAX_EVENTS_PER_REASON` targets also get an Event of their own.

import { type Trouble, TARGET_WARNINGS } from './trouble.ts'
import { shortenList } from '../../kit/index.ts'

/** The recorded trouble of one target, in `status.targetStates`. */
export interface TargetState {
  readonly restarts?: Readonly<Record<string, number>> | undefined
  /** Reasons of reported Events that still apply. */
  readonly warnings?: readonly string[] | undefined
}

export type TargetStates = Readonly<Record<string, TargetState>>

export interface TargetObservation {
  readonly name: string
  /** UID and resourceVersion of the observed object. */
  readonly version: string
  readonly trouble: Trouble | undefined
  /** The target is disturbed, so changes of its readiness are expected. */
  readonly isDisturbed: boolean
  /** The target was a target in the previous pass, so a missing restart count means zero. */
  readonly wasTarget: boolean
  /** This pass has read the Warning Events about the target (O4). */
  readonly warningsRead: boolean
}

export interface TargetEvent {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  /** The same for the same occurrence, so that a repeated pass emits the same Event. */
  readonly occasion: string
}

const RESTARTED = { type: 'Warning', reason: 'TargetPodTooManyRestarts' } as const
const UNREADY = [
  { type: 'Warning', reason: 'TargetReadinessProbeChangeBeforeDisruption' },
  { type: 'Normal', reason: 'ReadinessProbeChangeDuringDisruption' },
] as const
/** Not an Event: a pod that has just started is not ready yet, and nothing has changed. */
const UNREADY_AT_FIRST = 'Unready'
const RECOVERED = {
  Pod: { type: 'Normal', reason: 'RecoveredWarningStateInTargetPod' },
  Node: { type: 'Normal', reason: 'RecoveredWarningStateInTargetNode' },
} as const
/** Reasons that may come from Warning Events. O4 */
const FROM_WARNINGS: ReadonlySet<string> = new Set([
  ...['TargetPodInWarningState', 'TargetPodLivenessProbe'],
  ...UNREADY.map(({ reason }) => reason),
])
/** The end of one of these is not a recovery. */
const WITHOUT_RECOVERY: ReadonlySet<string> = new Set([UNREADY[1].reason, UNREADY_AT_FIRST])
/** A container with more restarts is reported. Source: spec/chaos.md 1.10. */
const MAX_RESTARTS = 2
const MAX_NAMED = 5
/** The maximum number of Events on targets for one reason in one pass; each Event is a request. */
const MAX_EVENTS_PER_REASON = 50

/** An Event on the target itself. */
export interface EventOnTarget extends TargetEvent {
  readonly name: string
}

/** One observed problem of a target. */
interface Finding {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly text: string
}

/** @param before the recorded states; the result keeps only those of the observed targets. */
export function observeTargetStates(
  observations: readonly TargetObservation[],
  before: TargetStates,
  kind: 'Pod' | 'Node',
): {
  readonly states: TargetStates
  readonly events: readonly TargetEvent[]
  readonly onTargets: readonly EventOnTarget[]
} {
  const evaluated = observations.map((target) => ({
    name: target.name,
    ...evaluateTarget(target, before[target.name], kind),
  }))
  const nonEmpty = evaluated
    .filter(({ state }) => Object.keys(state).length > 0)
    .map(({ name, state }) => [name, state] as const)
  const findings = evaluated.flatMap((one) => one.findings)
  return {
    states: Object.fromEntries(nonEmpty.sort(([one], [other]) => (one < other ? -1 : 1))),
    events: summaryEvents(findings),
    onTargets: eventsOnTargets(findings),
  }
}

function evaluateTarget(target: TargetObservation, recorded: TargetState = {}, kind: 'Pod' | 'Node') {
  const { trouble = {} } = target
  const restarts = restartsOf(target, recorded)
  const reported = new Set(recorded.warnings ?? [])
  const warned = TARGET_WARNINGS.filter(({ reason }) => trouble.warnings?.[reason] !== undefined)
  const unready = unreadyReason(target, reported)
  const unverified = target.warningsRead ? [] : [...reported].filter((reason) => FROM_WARNINGS.has(reason))
  const current = [...warned.map(({ reason }) => reason), ...(unready === undefined ? [] : [unready])]
  const warnings = [...new Set([...current, ...unverified])]
  const isRecovered = warnings.length === 0 && [...reported].some((reason) => !WITHOUT_RECOVERY.has(reason))
  const findings: readonly Finding[] = [
    ...restarts.findings,
    ...warned.map(({ reason }) => ({ type: 'Warning', reason, text: trouble.warnings?.[reason] ?? '' }) as const),
    ...UNREADY.filter(({ reason }) => reason === unready).map((one) => ({
      ...one,
      text: trouble.unreadyBy ?? 'the target runs but is not ready',
    })),
    // O2
    ...(isRecovered ? [{ ...RECOVERED[kind], text: 'the target has recovered' }] : []),
  ]
  const state: TargetState = {
    ...(Object.keys(restarts.counts).length > 0 && { restarts: restarts.counts }),
    ...(warnings.length > 0 && { warnings }),
  }
  // O1
  return { state, findings: findings.filter(({ reason }) => !reported.has(reason)).map((one) => ({ ...one, target })) }
}

/** O3 */
function restartsOf({ trouble = {}, wasTarget }: TargetObservation, recorded: TargetState) {
  const findings: Finding[] = []
  const counts = Object.entries(trouble.restarts ?? {}).map(([container, count]) => {
    const from = recorded.restarts?.[container] ?? (wasTarget ? 0 : count)
    if (count - from <= MAX_RESTARTS) return [container, from] as const
    findings.push({ ...RESTARTED, text: `container ${container} was restarted ${count - from} times` })
    return [container, count] as const
  })
  return { findings, counts: Object.fromEntries(counts.filter(([, count]) => count > 0)) }
}

/**
 * Undefined: the target is ready, or its expected readiness is unknown. A reason that was reported before stays the
 * same.
 */
function unreadyReason(
  { trouble, isDisturbed, wasTarget }: TargetObservation,
  reported: ReadonlySet<string>,
): string | undefined {
  if (trouble?.isUnready !== true) return undefined
  const [before, during] = UNREADY
  const previous = [before.reason, during.reason, UNREADY_AT_FIRST].find((reason) => reported.has(reason))
  if (previous !== undefined) return previous
  if (!wasTarget) return UNREADY_AT_FIRST
  return isDisturbed ? during.reason : before.reason
}

type TargetFinding = Finding & { readonly target: TargetObservation }

/** O5 */
function summaryEvents(findings: readonly TargetFinding[]): readonly TargetEvent[] {
  const reasons = [...new Set(findings.map(({ reason }) => reason))]
  return reasons.flatMap((reason) => {
    const about = findings.filter((one) => one.reason === reason)
    const [first] = about
    if (first === undefined) return []
    const texts = about.map(({ target, text }) => `${target.name}: ${text}`)
    const count = about.length === 1 ? 'target' : `${about.length} targets`
    const message = `${count} ${shortenList(texts, MAX_NAMED).join('; ')}`
    return [{ type: first.type, reason, message, occasion: about.map(({ target }) => target.version).join(' ') }]
  })
}

/** O5 */
function eventsOnTargets(findings: readonly TargetFinding[]): readonly EventOnTarget[] {
  const counts = new Map<string, number>()
  return findings.flatMap(({ type, reason, text, target: { name, version } }) => {
    const count = (counts.get(reason) ?? 0) + 1
    counts.set(reason, count)
    return count > MAX_EVENTS_PER_REASON ? [] : [{ type, reason, message: text, occasion: version, name }]
  })
}
