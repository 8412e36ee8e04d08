// Trouble of pods that stands in no status: Warning Events about them, as the kubelet tells of probes that fail and of containers that it does not start any
// more. Pure. Source: spec/chaos.md 1.10, "Kubernetes events".
//
//   W1. A Warning holds as long as it is told again, and no container of the pod was started again since; what was told before the Disruption was there is none,
//       nor is what was told in the future.
//   W2. What probes and programs have said stays in the Event: notices leave the cluster.

import type { Event } from '../../kit/kind/kubernetes/v1.ts'
import { instantMs } from '../instant.ts'
import type { Trouble } from './trouble.ts'

/** One Warning about a pod. */
export interface PodWarning {
  readonly uid: string
  readonly about: 'liveness' | 'readiness' | 'other'
  readonly reason: string
  /** When it was told last; milliseconds since the epoch. */
  readonly lastMs: number
}

/** Longer than any of Kubernetes'; who writes an Event says what he likes. */
const MOST_REASON = 128
const OF_PROBES = new Set(['Unhealthy', 'ProbeWarning'])

export function warningView(event: Event): PodWarning {
  const { reason = '', message = '', involvedObject } = event
  const probe = OF_PROBES.has(reason) ? /\b(liveness|readiness) probe/i.exec(message)?.[1]?.toLowerCase() : undefined
  const about = probe === 'liveness' || probe === 'readiness' ? probe : 'other'
  return { uid: involvedObject.uid ?? '', about, reason: reason.slice(0, MOST_REASON), lastMs: lastMsOf(event) }
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
export const HOLDS_MS = 6 * 60_000

/** What the Warnings add to what the status of a pod says. W1 */
export function withWarnings(
  trouble: Trouble | undefined,
  told: readonly PodWarning[],
  { now, since }: { readonly now: number; readonly since: number },
): { readonly trouble: Trouble | undefined; readonly holdsMs: number | undefined } {
  const from = Math.max(since, now - HOLDS_MS + 1, (trouble?.restartedMs ?? 0) + 1)
  // Whoever tells of a time that is far away would not be done with; a kubelet whose clock is a little ahead is heard.
  const holding = told.filter(({ lastMs }) => lastMs >= from && lastMs < now + HOLDS_MS)
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
      ...(holding.some(({ about }) => about === 'readiness') && unready(trouble)),
    },
    holdsMs: Math.min(...holding.map(({ lastMs }) => lastMs)) + HOLDS_MS - now,
  }
}

/** A probe that fails is told before it has failed as often as it takes for the status. */
function unready(trouble: Trouble | undefined): Pick<Trouble, 'isUnready' | 'unreadyBy'> {
  return { isUnready: true, ...(trouble?.isUnready !== true && { unreadyBy: 'its readiness probe fails' }) }
}
