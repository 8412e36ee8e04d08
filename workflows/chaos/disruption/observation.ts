// What is told of targets that get into trouble, and out of it again: pure, from what was seen of them before and what is seen now. Source: spec/chaos.md 1.10.
//
//   O1. Each change is told once: what was told stands in the status until it is over.
//   O2. That a target has recovered is told when nothing is wrong with it any more, and only of one that was warned of.
//   O3. Restarts are counted from when a target was looked at first, or was last told of.
//   O4. What may have been told by a Warning is over when nothing tells of it where Warnings were read, and only then.
//   O5. What many targets have in common is one event, which names the first of them. Each of them is told of it as well, up to a number.

import { type Trouble, WARNINGS } from './trouble.ts'

/** What is kept of a target that is, or was, in trouble. */
export interface TargetState {
  readonly restarts?: Readonly<Record<string, number>> | undefined
  /** Reasons of events that were told of it and hold. */
  readonly warnings?: readonly string[] | undefined
}

export type TargetStates = Readonly<Record<string, TargetState>>

export interface SeenTarget {
  readonly name: string
  /** Which version of which object it is. */
  readonly version: string
  readonly trouble: Trouble | undefined
  /** It is disturbed: what becomes of its readiness is what the Disruption is for. */
  readonly isDisturbed: boolean
  /** It was a target before, so that what is not known of it is nothing. */
  readonly isKnown: boolean
  /** Warnings about it were read (O4). */
  readonly isHeard: boolean
}

export interface TargetNews {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  /** The same for the same news, whoever tells it. */
  readonly occasion: string
}

const RESTARTED = { type: 'Warning', reason: 'TargetPodTooManyRestarts' } as const
const UNREADY = [
  { type: 'Warning', reason: 'TargetReadinessProbeChangeBeforeDisruption' },
  { type: 'Normal', reason: 'ReadinessProbeChangeDuringDisruption' },
] as const
/** No event: a pod that has just started is not ready yet, and nothing has changed. */
const UNREADY_AT_FIRST = 'Unready'
const RECOVERED = {
  Pod: { type: 'Normal', reason: 'RecoveredWarningStateInTargetPod' },
  Node: { type: 'Normal', reason: 'RecoveredWarningStateInTargetNode' },
} as const
/** What a Warning may have told. O4 */
const HEARD: ReadonlySet<string> = new Set([
  ...['TargetPodInWarningState', 'TargetPodLivenessProbe'],
  ...UNREADY.map(({ reason }) => reason),
])
/** That one of these is over is no recovery. */
const UNWARNED: ReadonlySet<string> = new Set([UNREADY[1].reason, UNREADY_AT_FIRST])
/** More are too many. Source: spec/chaos.md 1.10. */
const MOST_RESTARTS = 2
const MOST_NAMED = 5
/** Of one reason in one pass: each is a request. */
const MOST_TOLD = 50

/** What is told on a target itself. */
export interface NewsOfTarget extends TargetNews {
  readonly name: string
}

/** What is found of one target. */
interface Finding {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly what: string
}

/** @param before of the targets that are looked at; of the others nothing is kept. */
export function observeTargetStates(
  seen: readonly SeenTarget[],
  before: TargetStates,
  kind: 'Pod' | 'Node',
): {
  readonly states: TargetStates
  readonly news: readonly TargetNews[]
  readonly onTargets: readonly NewsOfTarget[]
} {
  const looked = seen.map((target) => ({ name: target.name, ...lookAt(target, before[target.name], kind) }))
  const kept = looked
    .filter(({ state }) => Object.keys(state).length > 0)
    .map(({ name, state }) => [name, state] as const)
  const findings = looked.flatMap((one) => one.findings)
  return {
    states: Object.fromEntries(kept.sort(([one], [other]) => (one < other ? -1 : 1))),
    news: newsOf(findings),
    onTargets: newsOnTargets(findings),
  }
}

function lookAt(target: SeenTarget, known: TargetState = {}, kind: 'Pod' | 'Node') {
  const { trouble = {} } = target
  const restarts = restartsOf(target, known)
  const held = new Set(known.warnings ?? [])
  const warned = WARNINGS.filter(({ reason }) => trouble.warnings?.[reason] !== undefined)
  const unready = unreadyReason(target, held)
  const unheard = target.isHeard ? [] : [...held].filter((reason) => HEARD.has(reason))
  const found = [...warned.map(({ reason }) => reason), ...(unready === undefined ? [] : [unready])]
  const warnings = [...new Set([...found, ...unheard])]
  const isRecovered = warnings.length === 0 && [...held].some((reason) => !UNWARNED.has(reason))
  const findings: readonly Finding[] = [
    ...restarts.findings,
    ...warned.map(({ reason }) => ({ type: 'Warning', reason, what: trouble.warnings?.[reason] ?? '' }) as const),
    ...UNREADY.filter(({ reason }) => reason === unready).map((one) => ({
      ...one,
      what: trouble.unreadyBy ?? 'it runs, and is not ready',
    })),
    // O2
    ...(isRecovered ? [{ ...RECOVERED[kind], what: 'nothing is wrong with it any more' }] : []),
  ]
  const state: TargetState = {
    ...(Object.keys(restarts.counts).length > 0 && { restarts: restarts.counts }),
    ...(warnings.length > 0 && { warnings }),
  }
  // O1
  return { state, findings: findings.filter(({ reason }) => !held.has(reason)).map((one) => ({ ...one, target })) }
}

/** O3 */
function restartsOf({ trouble = {}, isKnown }: SeenTarget, known: TargetState) {
  const findings: Finding[] = []
  const counts = Object.entries(trouble.restarts ?? {}).map(([container, count]) => {
    const from = known.restarts?.[container] ?? (isKnown ? 0 : count)
    if (count - from <= MOST_RESTARTS) return [container, from] as const
    findings.push({ ...RESTARTED, what: `container ${container} was restarted ${count - from} times` })
    return [container, count] as const
  })
  return { findings, counts: Object.fromEntries(counts.filter(([, count]) => count > 0)) }
}

/** Undefined: it is ready, or nobody knows whether it should be. One that was told, or was so from the start, goes on as that. */
function unreadyReason({ trouble, isDisturbed, isKnown }: SeenTarget, held: ReadonlySet<string>): string | undefined {
  if (trouble?.isUnready !== true) return undefined
  const [before, during] = UNREADY
  const former = [before.reason, during.reason, UNREADY_AT_FIRST].find((reason) => held.has(reason))
  if (former !== undefined) return former
  if (!isKnown) return UNREADY_AT_FIRST
  return isDisturbed ? during.reason : before.reason
}

type TargetFinding = Finding & { readonly target: SeenTarget }

/** O5 */
function newsOf(findings: readonly TargetFinding[]): readonly TargetNews[] {
  const reasons = [...new Set(findings.map(({ reason }) => reason))]
  return reasons.flatMap((reason) => {
    const about = findings.filter((one) => one.reason === reason)
    const [first] = about
    if (first === undefined) return []
    const named = about.slice(0, MOST_NAMED).map(({ target, what }) => `${target.name}: ${what}`)
    const more = about.length > MOST_NAMED ? [`and ${about.length - MOST_NAMED} more`] : []
    const message = `${about.length === 1 ? 'target' : `${about.length} targets`} ${[...named, ...more].join('; ')}`
    return [{ type: first.type, reason, message, occasion: about.map(({ target }) => target.version).join(' ') }]
  })
}

/** O5 */
function newsOnTargets(findings: readonly TargetFinding[]): readonly NewsOfTarget[] {
  const told = new Map<string, number>()
  return findings.flatMap(({ type, reason, what, target: { name, version } }) => {
    const count = (told.get(reason) ?? 0) + 1
    told.set(reason, count)
    return count > MOST_TOLD ? [] : [{ type, reason, message: what, occasion: version, name }]
  })
}
