// The Disruptions that are there, as their objects say it, and what is left of those that were told to end.

import { CHAOS_NAMESPACE } from '../../../workflows/chaos/config.ts'
import { DISRUPTION_NAME_LABEL, DISRUPTION_NAMESPACE_LABEL } from '../../../workflows/chaos/contract.ts'
import { disruptionKind, type DisruptionStatus } from '../../../workflows/chaos/disruption/kind.ts'
import { removeFinalizerCommand } from '../../../workflows/chaos/let-go-command.ts'
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

export interface LeftDisruption {
  readonly uid: string
  /** `shop/slow-shop` */
  readonly title: string
  readonly namespace: string
  readonly name: string
  readonly isDeleting: boolean
  readonly injectionStatus: string | undefined
  /** Why a target is not injected, or that targets are simulated. */
  readonly message: string | undefined
  readonly simulated: number
  /** Numbers of targets. */
  readonly injected: number
  readonly desired: number
  /** None of it goes on by itself. */
  readonly isStuck: boolean
  readonly stuckPods: readonly StuckPod[]
  /** Where its chaos pods are; undefined: it has not said so. */
  readonly chaosNamespace: string | undefined
}

/** @param namespace undefined: all. @throws where the cluster does not know the kind, or the person may not list it. */
export async function readDisruptions(
  kube: Pick<KubeClient, 'request'>,
  namespace: string | undefined,
): Promise<readonly LeftDisruption[]> {
  const found: KubeObject[] = []
  try {
    for await (const { items } of readPages(kube, resourcePath(disruptionKind, namespace), { limit: undefined }))
      found.push(...items)
  } catch (error) {
    if (!isNotFound(error)) throw error
    throw new Error(
      'the cluster has no kind Disruption, expected its CRD (deploy/crds/chaos): without it nothing is disturbed',
      { cause: error },
    )
  }
  return found.map(leftOf)
}

function leftOf({ metadata, ...rest }: KubeObject): LeftDisruption {
  const { uid = '', namespace = '', name, deletionTimestamp } = metadata
  const status = (rest['status'] ?? {}) as DisruptionStatus
  const isDeleting = deletionTimestamp !== undefined
  const stuckPods = Object.entries(status.targetInjections ?? {}).flatMap(([target, kinds]) =>
    Object.entries(kinds).flatMap(([does, { injectionStatus, injectorPodName = '' }]) =>
      injectionStatus === 'IsStuckOnRemoval' ? [{ name: injectorPodName, target, does }] : [],
    ),
  )
  // Also one that is over, and not deleted.
  const isStuck = status.isStuckOnRemoval === true
  return {
    uid,
    title: `${namespace}/${name}`,
    namespace,
    name,
    isDeleting,
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

/** What a person can do about one that is stuck. */
export function stuckLines({ title, stuckPods, ...left }: LeftDisruption): readonly string[] {
  const { chaosNamespace = CHAOS_NAMESPACE } = left
  return [
    `${title} is stuck: what its chaos pods did could not be undone`,
    ...(stuckPods.length === 0 ? [`  which ones: ${podsCommand(left)}`] : []),
    ...stuckPods.flatMap(({ name, target, does }) => [
      `  ${does} on ${target}: undo it by hand; what was tried: kubectl -n ${chaosNamespace} logs ${name}`,
      `    then: ${removeFinalizerCommand(chaosNamespace, name)}`,
    ]),
  ]
}

/** Of one that is neither gone nor stuck when time is over. @param place where it was told to end. */
export function slowLine({ title, isDeleting, ...left }: LeftDisruption, { namespace, names }: StopPlace): string {
  if (isDeleting) return `${title} is being undone still: ${podsCommand(left)}`
  const { chaosNamespace } = left
  const isElsewhere = namespace === undefined && chaosNamespace !== undefined && !names.includes(chaosNamespace)
  const also = isElsewhere
    ? ` Its chaos pods are in ${chaosNamespace}; when that is configured: --chaos-namespace ${chaosNamespace}`
    : ''
  return `${title} was not told to end yet: does a worker run with the wing chaos?${also}`
}

function podsCommand({
  namespace,
  name,
  chaosNamespace = CHAOS_NAMESPACE,
}: Pick<LeftDisruption, 'namespace' | 'name' | 'chaosNamespace'>): string {
  const labels = `${DISRUPTION_NAMESPACE_LABEL}=${namespace},${DISRUPTION_NAME_LABEL}=${name}`
  return `kubectl -n ${chaosNamespace} get pods -l ${labels}`
}
