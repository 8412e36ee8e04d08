// What is wrong with a target, as its status says: for what the observer tells (observe-targets.ts). Pure. Source: spec/chaos.md 1.10.
//
//   T1. Of a target that is well there is nothing: a pass may see thousands.
//   T2. Nor of a pod that is being deleted: its containers are stopped, and how they end, as with 143, is no trouble.

import type { Node, Pod } from '../../kit/kind/kubernetes/v1.ts'
import { instantMs } from '../instant.ts'

/** Reasons of events, in the order in which they are told. */
export const WARNINGS = [
  { reason: 'TargetPodInWarningState' },
  { reason: 'TargetPodContainersInWarningState' },
  { reason: 'TargetPodLivenessProbe' },
  { reason: 'TargetNodeUnderMemoryPressure' },
  { reason: 'TargetNodeUnderDiskPressure' },
  { reason: 'TargetNodeUnavailableNetwork' },
  { reason: 'TargetNodeInWarningState' },
] as const

export type TargetWarning = (typeof WARNINGS)[number]['reason']

export interface Trouble {
  /** By container, those that were restarted at all. */
  readonly restarts?: Readonly<Record<string, number>>
  /** When a container that was restarted was started last; milliseconds since the epoch. */
  readonly restartedMs?: number
  readonly warnings?: Readonly<Partial<Record<TargetWarning, string>>>
  /** Its containers run, and its readiness probe does not succeed. */
  readonly isUnready?: boolean
  /** Who says so, where its status does not. */
  readonly unreadyBy?: string
}

/** A container that waits for these, or has ended so, is as it should be. */
const USUAL = new Set(['Completed', 'ContainerCreating', 'PodInitializing'])
const BAD_PHASES = new Set(['Failed', 'Unknown'])

type SeenPod = Pick<Pod, 'status'> & { readonly metadata?: Pick<Pod['metadata'], 'deletionTimestamp'> }

/** T1, T2 */
export function podTrouble({ metadata, status }: SeenPod): Trouble | undefined {
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
  // As JSON has them; the types are those of a client that makes dates of them.
  const starts = restarted.map(({ state }) => state?.running?.startedAt as unknown)
  const times = starts.flatMap((text) => (typeof text === 'string' ? (instantMs(text) ?? []) : []))
  return times.length === 0 ? {} : { restartedMs: Math.max(...times) }
}

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number]

function failureOf({ name, state }: ContainerStatus): readonly string[] {
  const why = state?.waiting?.reason ?? state?.terminated?.reason ?? ''
  return why === '' || USUAL.has(why) ? [] : [`container ${name}: ${why}`]
}

function allRun(containers: readonly ContainerStatus[]): boolean {
  return containers.length > 0 && containers.every(({ state }) => state?.running !== undefined)
}

const OF_CONDITIONS: Readonly<Record<string, TargetWarning>> = {
  MemoryPressure: 'TargetNodeUnderMemoryPressure',
  DiskPressure: 'TargetNodeUnderDiskPressure',
  NetworkUnavailable: 'TargetNodeUnavailableNetwork',
  PIDPressure: 'TargetNodeInWarningState',
}

/** T1 */
export function nodeTrouble({ status = {} }: Pick<Node, 'status'>): Trouble | undefined {
  const warnings: Partial<Record<TargetWarning, string>> = {}
  for (const { type, status: is, reason = '' } of status.conditions ?? []) {
    const warning = type === 'Ready' ? 'TargetNodeInWarningState' : OF_CONDITIONS[type]
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
