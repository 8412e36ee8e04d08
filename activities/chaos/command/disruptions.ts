// Reads Disruptions from the API server and describes those that have not ended.

import { CHAOS_NAMESPACE } from '../../../workflows/chaos/config.ts'
import {
  DISRUPTION_NAME_LABEL,
  DISRUPTION_NAMESPACE_LABEL,
  removeFinalizerCommand,
} from '../../../workflows/chaos/contract.ts'
import { disruptionKind, type DisruptionStatus } from '../../../workflows/chaos/disruption/kind.ts'
import type { KubeClient, KubeObject } from '../../kube/client.ts'
import { isNotFound } from '../../kube/kube-error.ts'
import { readPages } from '../../kube/pages.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import type { StopPlace } from './stop-place.ts'

/** A chaos pod that could not clean up. */
export interface StuckPod {
  readonly name: string
  readonly target: string
  readonly does: string
}

export interface DisruptionSummary {
  readonly uid: string
  /** `shop/slow-shop` */
  readonly title: string
  readonly namespace: string
  readonly name: string
  readonly isDeleting: boolean
  /** In deletion: no chaos pod is left. */
  readonly isUndone: boolean
  readonly injectionStatus: string | undefined
  /** The reason why a target is not injected, or a note that targets are simulated. */
  readonly message: string | undefined
  readonly simulated: number
  /** Numbers of targets. */
  readonly injected: number
  readonly desired: number
  /** The Disruption needs a user to continue. */
  readonly isStuck: boolean
  readonly stuckPods: readonly StuckPod[]
  /** The namespace of its chaos pods; undefined if the status does not have it. */
  readonly chaosNamespace: string | undefined
}

/** @param namespace undefined: all. @throws if the cluster has no such kind, or the user may not list it. */
export async function readDisruptions(
  kube: Pick<KubeClient, 'request'>,
  namespace: string | undefined,
): Promise<readonly DisruptionSummary[]> {
  const found: KubeObject[] = []
  try {
    for await (const { items } of readPages(kube, resourcePath(disruptionKind, namespace), { limit: undefined }))
      found.push(...items)
  } catch (error) {
    if (!isNotFound(error)) throw error
    throw new Error(
      'the cluster has no kind Disruption; apply its CRD from deploy/crds/chaos (without the CRD, nothing is disturbed)',
      { cause: error },
    )
  }
  return found.map(summaryOf)
}

function summaryOf({ metadata, ...rest }: KubeObject): DisruptionSummary {
  const { uid = '', namespace = '', name, deletionTimestamp } = metadata
  const status = (rest['status'] ?? {}) as DisruptionStatus
  const isDeleting = deletionTimestamp !== undefined
  const stuckPods = Object.entries(status.targetInjections ?? {}).flatMap(([target, kinds]) =>
    Object.entries(kinds).flatMap(([does, { injectionStatus, injectorPodName = '' }]) =>
      injectionStatus === 'IsStuckOnRemoval' ? [{ name: injectorPodName, target, does }] : [],
    ),
  )
  // Also for an expired Disruption that is not deleted.
  const isStuck = status.isStuckOnRemoval === true
  return {
    uid,
    title: `${namespace}/${name}`,
    namespace,
    name,
    isDeleting,
    isUndone: isDeleting && status.cleanedAt !== undefined,
    isStuck,
    stuckPods,
    injectionStatus: status.injectionStatus,
    message: status.message,
    simulated: status.simulatedTargetsCount ?? 0,
    chaosNamespace: status.chaosNamespace,
    injected: status.injectedTargetsCount ?? 0,
    desired: status.desiredTargetsCount ?? 0,
  }
}

/** The steps with which a user resolves a stuck Disruption. */
export function stuckLines({ title, stuckPods, ...left }: DisruptionSummary): readonly string[] {
  const { chaosNamespace = CHAOS_NAMESPACE } = left
  return [
    `${title} is stuck: its chaos pods could not clean up`,
    ...(stuckPods.length === 0 ? [`  show its chaos pods: ${podsCommand(left)}`] : []),
    ...stuckPods.flatMap(({ name, target, does }) => [
      `  ${does} on ${target}: undo the changes by hand; their log: kubectl -n ${chaosNamespace} logs ${name}`,
      `    then: ${removeFinalizerCommand(chaosNamespace, name)}`,
    ]),
  ]
}

/**
 * The line about a Disruption that is neither deleted nor stuck when the time has passed. @param place the place of the
 * stop.
 */
export function slowLine({ title, isDeleting, ...left }: DisruptionSummary, { namespace, names }: StopPlace): string {
  if (isDeleting) return `${title}: the clean-up is not finished; show its chaos pods: ${podsCommand(left)}`
  const { chaosNamespace } = left
  const isElsewhere = namespace === undefined && chaosNamespace !== undefined && !names.includes(chaosNamespace)
  const also = isElsewhere
    ? `. Its chaos pods are in namespace ${chaosNamespace}; if the worker is configured with it, pass --chaos-namespace ${chaosNamespace}`
    : ''
  return `${title}: no worker has started its clean-up; check that a worker runs with the wing chaos${also}`
}

function podsCommand({
  namespace,
  name,
  chaosNamespace = CHAOS_NAMESPACE,
}: Pick<DisruptionSummary, 'namespace' | 'name' | 'chaosNamespace'>): string {
  const labels = `${DISRUPTION_NAMESPACE_LABEL}=${namespace},${DISRUPTION_NAME_LABEL}=${name}`
  return `kubectl -n ${chaosNamespace} get pods -l ${labels}`
}
