import type { Node, Pod, Event } from '../../kit/kind/kubernetes/v1.ts'
import { timestampMs } from '../timestamp.ts'

/** Reasons of Events, in the order in which they are reported. */
export const TARGET_WARNINGS = [
  { reason: 'TargetPodInWarningState' },
  { reason: 'TargetPodContainersInWarningState' },
  { reason: 'TargetPodLivenessProbe' },
  { reason: 'TargetNodeUnderMemoryPressure' },
  { reason: 'TargetNodeUnderDiskPressure' },
  { reason: 'TargetNodeUnavailableNetwork' },
  { reason: 'TargetNodeInWarningState' },
] as const

export type TargetWarning = (typeof TARGET_WARNINGS)[number]['reason']

export interface Trouble {
  /** The restart counts of restarted containers. */
  readonly restarts?: Readonly<Record<string, number>>
  /** The last start of a restarted container, in milliseconds since the epoch. */
  readonly restartedMs?: number
  readonly warnings?: Readonly<Partial<Record<TargetWarning, string>>>
  /** All containers run and the pod is not ready. */
  readonly isUnready?: boolean
  /** The source of this information if the pod's status does not show it. */
  readonly unreadyBy?: string
}

/** Waiting or terminated with one of these reasons is normal. */
const NORMAL_REASONS = new Set(['Completed', 'ContainerCreating', 'PodInitializing'])
const BAD_PHASES = new Set(['Failed', 'Unknown'])

type ObservedPod = Pick<Pod, 'status'> & { readonly metadata?: Pick<Pod['metadata'], 'deletionTimestamp'> }

/** T1, T2 */
export function podTrouble({ metadata, status }: ObservedPod): Trouble | undefined {
  return metadata?.deletionTimestamp === undefined ? troubleOf(status ?? {}) : undefined
}

function troubleOf(status: NonNullable<Pod['status']>): Trouble | undefined {
  const { phase = '', reason = '', conditions = [], containerStatuses = [] } = status
  const restarted = containerStatuses.filter(({ restartCount }) => restartCount > 0)
  const failing = containerStatuses.flatMap(failureOf)
  const isUnready = conditions.some((one) => one.type === 'Ready' && one.status !== 'True')
  const restarts = Object.fromEntries(restarted.map(({ name, restartCount }) => [name, restartCount]))
  return unlessEmpty({
    ...(restarted.length > 0 && { restarts, ...restartedAt(restarted) }),
    warnings: {
      ...(BAD_PHASES.has(phase) && {
        TargetPodInWarningState: [`phase ${phase}`, reason].filter((text) => text !== '').join(', '),
      }),
      ...(failing.length > 0 && { TargetPodContainersInWarningState: failing.join(', ') }),
    },
    ...(isUnready && phase === 'Running' && allRun(containerStatuses) && { isUnready }),
  })
}

function restartedAt(restarted: readonly ContainerStatus[]): Pick<Trouble, 'restartedMs'> {
  // The values are JSON strings, although the types of the client say Date.
  const starts = restarted.map(({ state }) => state?.running?.startedAt as unknown)
  const times = starts.flatMap((text) => (typeof text === 'string' ? (timestampMs(text) ?? []) : []))
  return times.length === 0 ? {} : { restartedMs: Math.max(...times) }
}

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number]

function failureOf({ name, state }: ContainerStatus): readonly string[] {
  const why = state?.waiting?.reason ?? state?.terminated?.reason ?? ''
  return why === '' || NORMAL_REASONS.has(why) ? [] : [`container ${name}: ${why}`]
}

function allRun(containers: readonly ContainerStatus[]): boolean {
  return containers.length > 0 && containers.every(({ state }) => state?.running !== undefined)
}

const WARNING_OF_CONDITION: Readonly<Record<string, TargetWarning>> = {
  MemoryPressure: 'TargetNodeUnderMemoryPressure',
  DiskPressure: 'TargetNodeUnderDiskPressure',
  NetworkUnavailable: 'TargetNodeUnavailableNetwork',
  PIDPressure: 'TargetNodeInWarningState',
}

/** T1 */
export function nodeTrouble({ status = {} }: Pick<Node, 'status'>): Trouble | undefined {
  const warnings: Partial<Record<TargetWarning, string>> = {}
  for (const { type, status: is, reason = '' } of status.conditions ?? []) {
    const warning = type === 'Ready' ? 'TargetNodeInWarningState' : WARNING_OF_CONDITION[type]
    const isBad = type === 'Ready' ? is !== 'True' : is === 'True'
    if (warning === undefined || !isBad) continue
    const found = `${type} is ${is}${reason === '' ? '' : ` (${reason})`}`
    warnings[warning] = [warnings[warning], found].filter((text) => text !== undefined).join(', ')
  }
  return unlessEmpty({ warnings })
}

function unlessEmpty({ warnings = {}, ...trouble }: Trouble): Trouble | undefined {
  const all = { ...trouble, ...(Object.keys(warnings).length > 0 && { warnings }) }
  return Object.keys(all).length === 0 ? undefined : all
}

/** One Warning Event about a pod. */
export interface PodWarning {
  readonly uid: string
  readonly about: 'liveness' | 'readiness' | 'other'
  readonly reason: string
  /** The last occurrence in milliseconds since the epoch. */
  readonly lastMs: number
}

/** Longer than any reason of Kubernetes itself; other writers of Events may use any length. */
const MAX_REASON_LENGTH = 128
const PROBE_REASONS = new Set(['Unhealthy', 'ProbeWarning'])

export function warningView(event: Event): PodWarning {
  const { reason = '', message = '', involvedObject } = event
  const probe = PROBE_REASONS.has(reason)
    ? /\b(liveness|readiness) probe/i.exec(message)?.[1]?.toLowerCase()
    : undefined
  const about = probe === 'liveness' || probe === 'readiness' ? probe : 'other'
  return { uid: involvedObject.uid ?? '', about, reason: reason.slice(0, MAX_REASON_LENGTH), lastMs: lastMsOf(event) }
}

/**
 * The newest timestamp in the order of `kubectl get events`; clients of the two versions of the API fill different
 * fields.
 */
function lastMsOf({ series, lastTimestamp, eventTime, firstTimestamp, metadata }: Event): number {
  const texts = [series?.lastObservedTime, lastTimestamp, eventTime, firstTimestamp, metadata.creationTimestamp]
  // The values are JSON strings, although the types of the client say Date.
  return timestampMs(texts.map((text) => text as unknown).find((text) => typeof text === 'string')) ?? 0
}

/**
 * A kubelet that has emitted many Events about a pod repeats each one only every five minutes. Source: client-go,
 * tools/record/events_cache.go (defaultSpamQPS).
 */
export const WARNING_TTL_MS = 6 * 60_000

/** Adds the Warnings to the trouble that the pod's status shows. W1 */
export function withWarnings(
  trouble: Trouble | undefined,
  candidates: readonly PodWarning[],
  { now, since }: { readonly now: number; readonly since: number },
): { readonly trouble: Trouble | undefined; readonly holdsMs: number | undefined } {
  const from = Math.max(since, now - WARNING_TTL_MS + 1, (trouble?.restartedMs ?? 0) + 1)
  // A timestamp far in the future would never expire. A kubelet whose clock is slightly fast is accepted.
  const applicable = candidates.filter(({ lastMs }) => lastMs >= from && lastMs < now + WARNING_TTL_MS)
  if (applicable.length === 0) return { trouble, holdsMs: undefined }
  const others = [...new Set(applicable.filter(({ about }) => about === 'other').map(({ reason }) => reason))].sort()
  const { warnings = {}, ...rest } = trouble ?? {}
  const { TargetPodInWarningState: state } = warnings
  const warningText = [...(state === undefined ? [] : [state]), ...others].join(', ')
  return {
    trouble: {
      ...rest,
      warnings: {
        ...warnings,
        ...(warningText !== '' && { TargetPodInWarningState: warningText }),
        ...(applicable.some(({ about }) => about === 'liveness') && {
          TargetPodLivenessProbe: 'the liveness probe fails',
        }),
      },
      ...(applicable.some(({ about }) => about === 'readiness') && unready(trouble)),
    },
    holdsMs: Math.min(...applicable.map(({ lastMs }) => lastMs)) + WARNING_TTL_MS - now,
  }
}

/** The kubelet emits an Event about a failing probe before the failure threshold changes the status. */
function unready(trouble: Trouble | undefined): Pick<Trouble, 'isUnready' | 'unreadyBy'> {
  return { isUnready: true, ...(trouble?.isUnready !== true && { unreadyBy: 'the readiness probe fails' }) }
}
