// Step 5. Marks process groups that cannot change to the spec in place. Source: seeds/foundationdb-operator-technical-design.txt ReplaceMisconfiguredPods;
// spec/foundationdb.md 2.5.

import {
  IMAGE_TYPE_ANNOTATION,
  IP_FAMILY_ANNOTATION,
  LAST_SPEC_ANNOTATION,
  PUBLIC_IP_SOURCE_ANNOTATION,
} from '../../contract.ts'
import { isProtocolCompatible } from '../../model/version.ts'
import { type ClusterSettings, serversPerPod } from '../../model/cluster-settings.ts'
import { parseProcessGroupID, volumeClaimName } from '../../model/process-group-id.ts'
import { hasWantedFailures } from '../buggification.ts'
import { clusterStep } from '../cluster-step.ts'
import {
  byName,
  changeProcessGroups,
  type ClusterContext,
  normalEvent,
  podsByGroup,
  processGroupsIn,
} from '../context.ts'
import { quantityOf } from '../../resources/quantity.ts'
import type { ExpectedPod } from '../expected-pod.ts'
import { expectedObjects, type ExpectedObjects, includes } from '../expected-objects.ts'
import type { ProcessGroupStatus } from '../kind.ts'
import { isTerminating, type ObservedClaim, type ObservedPod, substitutionsOf } from '../observed.ts'
import { isExcluded, isMarked, marked } from '../process-groups.ts'
import { isReplacedForUpdate } from '../update-strategy.ts'
import { continueWith, NO_DELAY_MS, stopFor } from '../requeue.ts'

const DEFERRED_MS = 5000

export const replaceMisconfiguredPods = clusterStep('ReplaceMisconfiguredPods', async (context) => {
  const reasons = misconfigurations(context)
  if (reasons.length === 0) return undefined
  if (isChanging(context))
    return continueWith(
      'misconfigured process groups wait for the end of the upgrade or of the change of TLS',
      DEFERRED_MS,
    )
  const ongoing = processGroupsIn(context).filter((group) => isMarked(group) && !isExcluded(group)).length
  const most = Math.max(0, context.settings.automation.maxConcurrentReplacements - ongoing)
  const chosen = reasons.slice(0, most)
  if (chosen.length === 0) return undefined
  const ids = new Set(chosen.map(({ id }) => id))
  changeProcessGroups(context, (group) => (ids.has(group.processGroupID) ? marked(group, context.now) : group))
  const texts = chosen.map(({ id, reason }) => `${id} (${reason})`).join(', ')
  await normalEvent(context, 'ReplacingMisconfiguredPods', `Replacing process groups ${texts}`)
  await context.pass.save()
  return stopFor(`process groups are replaced: ${[...ids].join(', ')}`, NO_DELAY_MS)
})

function misconfigurations(context: ClusterContext): readonly { readonly id: string; readonly reason: string }[] {
  const expected = expectedObjects(context)
  const [pods, claims] = [podsByGroup(context), byName(context.claims)]
  return processGroupsIn(context).flatMap((group) => {
    const id = group.processGroupID
    const reason = isMarked(group)
      ? undefined
      : misconfiguration(context, expected, {
          group,
          pod: pods.get(id),
          claim: claims.get(volumeClaimName(context.settings.name, id)),
        })
    return reason === undefined ? [] : [{ id, reason }]
  })
}

/** Whether the protocol or TLS is changing. */
function isChanging({ settings, status }: ClusterContext): boolean {
  const { tls = false, nonTLS = false } = status.requiredAddresses ?? {}
  return (tls && nonTLS) || !isProtocolCompatible(status.runningVersion ?? settings.version, settings.version)
}

interface Member {
  readonly group: ProcessGroupStatus
  readonly pod: ObservedPod | undefined
  readonly claim: ObservedClaim | undefined
}

/** Why the process group cannot change in place. */
function misconfiguration(context: ClusterContext, expected: ExpectedObjects, member: Member): string | undefined {
  const { settings } = context
  const { group, pod, claim } = member
  if ((parseProcessGroupID(group.processGroupID)?.prefix ?? '') !== settings.prefix) return 'the prefix of IDs changed'
  if (pod === undefined || isTerminating(pod)) return undefined
  return claimProblem(expected, group, claim) ?? podProblem(context, expected, group, pod)
}

function claimProblem(
  expected: ExpectedObjects,
  group: ProcessGroupStatus,
  claim: ObservedClaim | undefined,
): string | undefined {
  if (claim === undefined) return undefined
  const wanted = expected.claimOf(group)
  if (wanted === undefined) return 'the class has no volume any more'
  const isSame =
    claim.metadata.annotations?.[LAST_SPEC_ANNOTATION] === wanted.metadata.annotations?.[LAST_SPEC_ANNOTATION]
  return isSame ? undefined : 'the volume claim changed'
}

function podProblem(
  context: ClusterContext,
  expected: ExpectedObjects,
  group: ProcessGroupStatus,
  pod: ObservedPod,
): string | undefined {
  const { settings } = context
  const { annotations = {} } = pod.metadata
  const { routing, imageType } = settings
  const { processClass = '' } = group
  const is = (name: string, wanted: string, otherwise = wanted) => (annotations[name] ?? otherwise) === wanted
  if (!is(PUBLIC_IP_SOURCE_ANNOTATION, routing.publicIPSource, 'pod')) return 'the source of addresses changed'
  if (serversOf(pod, processClass) !== serversPerPod(settings, processClass))
    return 'the number of processes in a Pod changed'
  const wanted = expected.podOf(group)
  if (annotations[LAST_SPEC_ANNOTATION] === wanted.specHash()) return undefined
  if (!is(IMAGE_TYPE_ANNOTATION, imageType)) return 'the image type changed'
  if (!is(IP_FAMILY_ANNOTATION, String(routing.podIPFamily ?? ''), '')) return 'the IP family changed'
  return placementProblem(settings, pod, wanted) ?? strategyProblem(context, pod, group)
}

/** Why the Pod may not fit on its Node any more. */
function placementProblem({ spec }: ClusterSettings, pod: ObservedPod, wanted: ExpectedPod): string | undefined {
  if (!hasNodeSelector(pod, wanted.nodeSelector)) return 'the node selector changed'
  const isReplaced = spec.replaceInstancesWhenResourcesChange === true && hasGrown(pod, wanted)
  return isReplaced ? 'the resource requests grew' : undefined
}

function strategyProblem(context: ClusterContext, pod: ObservedPod, group: ProcessGroupStatus): string | undefined {
  // DeletePodsForBuggification recreates Pods whose failures on purpose differ.
  const isReplaced = isReplacedForUpdate(context, group) && hasWantedFailures(context, pod, group.processGroupID)
  return isReplaced ? 'the Pod spec changed' : undefined
}

function hasGrown({ spec: { containers } }: ObservedPod, wanted: ExpectedPod): boolean {
  return containers.some(({ name, resources: { requests = {} } = {} }) =>
    Object.entries(wanted.requestsOf(name)).some(
      ([resource, text]) => (quantityOf(text) ?? 0) > (quantityOf(requests[resource] ?? '0') ?? 0),
    ),
  )
}

function hasNodeSelector(
  { spec: { nodeSelector = {} } }: ObservedPod,
  wanted: Readonly<Record<string, string>>,
): boolean {
  return Object.keys(nodeSelector).length === Object.keys(wanted).length && includes(nodeSelector, wanted)
}

function serversOf(pod: ObservedPod, processClass: string): number {
  return Number(substitutionsOf(pod)?.[`${processClass.toUpperCase()}_SERVERS_PER_POD`] ?? 1)
}
