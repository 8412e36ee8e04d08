// Trouble of pods that stands in no status: Warning Events about them, as the kubelet tells of probes that fail and of containers that it does not start any
// more. Source: spec/chaos.md 1.10, "Kubernetes events".
//
//   W1. A Warning holds as long as it is told again, and no container of the pod was started again since; what was told before the Disruption was there is none.
//   W2. What probes and programs have said stays in the Event: notices leave the cluster.
//   W3. The pass that finds all chaos pods ready reads none: most Disruptions are not looked at again before they end. What came just then wakes another one,
//       or is found by a look while it holds.
//   W4. Who cannot read Events, as with the roles of a release before, observes all else.

import { action, done, later, nop, orElse } from '../../kit/index.ts'
import type { Event } from '../../kit/kind/kubernetes/v1.ts'
import { instantMs } from '../instant.ts'
import type { Target } from './observed.ts'
import { configOf, type DisruptionPass, injectionStatusIn, isOfNodes, statusIn } from './pass.ts'
import type { Trouble } from './trouble.ts'

/** One Warning about a pod. */
export interface PodWarning {
  readonly uid: string
  readonly about: 'liveness' | 'readiness' | 'other'
  readonly reason: string
  /** When it was told last; milliseconds since the epoch. */
  readonly lastMs: number
}

const OF_PROBES = new Set(['Unhealthy', 'ProbeWarning'])

export function warningView(event: Event): PodWarning {
  const { reason = '', message = '', involvedObject } = event
  const probe = OF_PROBES.has(reason) ? /\b(liveness|readiness) probe/i.exec(message)?.[1]?.toLowerCase() : undefined
  const about = probe === 'liveness' || probe === 'readiness' ? probe : 'other'
  return { uid: involvedObject.uid ?? '', about, reason, lastMs: lastMsOf(event) }
}

/** As `kubectl get events` finds it; clients of both versions of the API fill different fields. */
function lastMsOf({ series, lastTimestamp, eventTime, firstTimestamp, metadata }: Event): number {
  const texts = [series?.lastObservedTime, lastTimestamp, eventTime, firstTimestamp, metadata.creationTimestamp]
  // As JSON has them; the types are those of a client that makes dates of them.
  return instantMs(texts.map((text) => text as unknown).find((text) => typeof text === 'string')) ?? 0
}

/**
 * A kubelet that has told much of a pod tells of it again every five minutes, however often it happens. Source: client-go, tools/record/events_cache.go
 * (defaultSpamQPS).
 */
const HOLDS_MS = 6 * 60_000
const LOOK_AGAIN_MS = HOLDS_MS - 60_000

/** What the Warnings add to what the status of a pod says. W1 */
export function withWarnings(
  trouble: Trouble | undefined,
  told: readonly PodWarning[],
  { now, since }: { readonly now: number; readonly since: number },
): { readonly trouble: Trouble | undefined; readonly holdsMs: number | undefined } {
  const from = Math.max(since, now - HOLDS_MS + 1, (trouble?.restartedMs ?? 0) + 1)
  const holding = told.filter(({ lastMs }) => lastMs >= from)
  if (holding.length === 0) return { trouble, holdsMs: undefined }
  const others = [...new Set(holding.filter(({ about }) => about === 'other').map(({ reason }) => reason))].sort()
  const { warnings = {}, ...rest } = trouble ?? {}
  const { TargetPodInWarningState: state } = warnings
  const said = [...(state === undefined ? [] : [state]), ...others].join(', ')
  return {
    trouble: {
      ...rest,
      warnings: {
        ...warnings,
        ...(said !== '' && { TargetPodInWarningState: said }),
        ...(holding.some(({ about }) => about === 'liveness') && {
          TargetPodLivenessProbe: 'its liveness probe fails',
        }),
      },
      ...(holding.some(({ about }) => about === 'readiness') && { isUnready: true }),
    },
    holdsMs: Math.min(...holding.map(({ lastMs }) => lastMs)) + HOLDS_MS - now,
  }
}

// What one step of a pass reads and the next one looks at.
const heardIn = new WeakMap<DisruptionPass, readonly PodWarning[]>()

/** Of so many targets each is asked about; of more the whole namespace. */
const MOST_ASKED = 5

const readWarnings = action<DisruptionPass>('readWarnings', async (pass) => {
  const former = pass.target.status?.targets ?? []
  const names = (statusIn(pass).targets ?? []).filter((name) => former.includes(name))
  // Of one that was chosen just now nothing is to be told.
  if (!configOf(pass).controller.enableObserver || isOfNodes(pass.target.spec) || names.length === 0) return done
  if (isInjectedNow(pass)) return later(LOOK_AGAIN_MS)
  const narrowed = names.length > MOST_ASKED ? undefined : { fields: { 'involvedObject.name': names } }
  heardIn.set(pass, await pass.refresh('podWarnings', narrowed))
  return done
})

/** W3 */
function isInjectedNow(pass: DisruptionPass): boolean {
  const { chaosPods } = pass.state
  return injectionStatusIn(pass) === 'NotInjected' && chaosPods.length > 0 && chaosPods.every(({ isReady }) => isReady)
}

/** W4 */
export const hearWarnings = orElse(readWarnings, nop)

/** Adds to what was seen of targets what was heard of them. @returns also that the first which does not hold any more is looked at then. */
export function heardOf(pass: DisruptionPass, found: readonly Target[]) {
  const all = heardIn.get(pass) ?? []
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
  return { heard, next: holds.length === 0 ? done : later(Math.min(...holds)) }
}
