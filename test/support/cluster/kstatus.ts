// The generic rules of kstatus (sigs.k8s.io/cli-utils, package status) and of `kubectl wait --for=condition=...`, from their documentation. Tests use them as an
// oracle.

import type { KubeObject } from '../../../activities/kube/client.ts'

export interface ReadCondition {
  readonly type: string
  readonly status: string
  readonly observedGeneration?: number
  readonly lastTransitionTime: string
  readonly reason: string
  readonly message: string
}

type Read = Pick<KubeObject, 'metadata'> & { readonly status?: unknown }

interface ReadStatus {
  readonly observedGeneration?: number
  readonly conditions?: readonly ReadCondition[]
}

export type KStatus = 'Terminating' | 'InProgress' | 'Failed' | 'Current'

export function kstatusOf(object: Read): KStatus {
  const { observedGeneration, conditions = [] } = statusOf(object)
  const { deletionTimestamp, generation } = object.metadata
  if (deletionTimestamp !== undefined) return 'Terminating'
  if (observedGeneration !== undefined && observedGeneration !== generation) return 'InProgress'
  const decisive = conditions.find(({ type, status }) => status === 'True' && ABNORMAL.has(type))
  if (decisive !== undefined) return ABNORMAL.get(decisive.type) ?? 'Current'
  const ready = conditions.find(({ type }) => type === 'Ready')
  return ready === undefined || ready.status === 'True' ? 'Current' : 'InProgress'
}

const ABNORMAL: ReadonlyMap<string, KStatus> = new Map([
  ['Reconciling', 'InProgress'],
  ['Stalled', 'Failed'],
])

/** Whether `kubectl wait --for=condition=TYPE=STATUS` ends. */
export function hasCondition(object: Read, type: string, status = 'True'): boolean {
  const { observedGeneration: observed, conditions = [] } = statusOf(object)
  const found = conditions.find((one) => one.type === type)
  if (found === undefined) return false
  const about = found.observedGeneration ?? observed
  const isOld = about !== undefined && about < (object.metadata.generation ?? 0)
  return !isOld && found.status === status
}

/** The conditions of an object as `type: status`, in their order. */
export function conditionsOf(object: Read | undefined): readonly string[] {
  return (
    (object === undefined ? {} : statusOf(object)).conditions?.map(({ type, status }) => `${type}: ${status}`) ?? []
  )
}

export function conditionOf(object: Read | undefined, type: string): ReadCondition | undefined {
  return (object === undefined ? {} : statusOf(object)).conditions?.find((one) => one.type === type)
}

function statusOf({ status }: Read): ReadStatus {
  return status ?? {}
}
