// Creates one chaos pod for each target and kind, and deletes chaos pods of former targets. Source:
// seeds/chaos-controller.txt "Injection phase", step 4; spec/chaos.md 2.4.
//
// M1. The status names the targets and their chaos pods before the first create, so that a repeated pass finds existing
//   pods and creates missing ones. A repeated injection is a new run with new pod names.
// M2. A chaos pod that cannot be created does not keep other targets from being disturbed.
// M3. The Event on a target precedes the create of its chaos pod. If the pass fails in between, the next pass does
//   both.

import { action, done, later, type Outcome, problemText } from '../../kit/index.ts'
import { type InjectorKindName, kindNamesOf } from '../contract.ts'
import { chaosPodName, chaosPod } from './chaos-pod.ts'
import { clouds } from './cloud-calls.ts'
import { remainingChaosPods, deleteChaosPods } from './end-chaos-pods.ts'
import type { TargetInjections } from './kind.ts'
import { targetsByName } from './observe-targets.ts'
import { isOnPreviousNode, isReplaced, rememberReplaced } from './moved-targets.ts'
import { rememberUncreated } from './uncreated-pods.ts'
import { type ChaosPod, injectionKey, type Target } from './observed.ts'
import type { NetworkHost } from './schema/network.ts'
import { configIn, type DisruptionPass, isOfNodes, specOf, statusIn, timesIn } from './pass.ts'
import { hasCloud } from '../cloud.ts'
import { fieldsOf } from '../json-fields.ts'
import { filterProblems } from './rules/network.ts'

/** With less time left, the controller injects nothing. Source: spec/chaos.md 2.4. */
const MIN_REMAINING_MS = 1000
const CLOUD_RETRY_MS = 15_000

export const createChaosPods = action<DisruptionPass>('makeChaosPods', async (pass) => {
  await deleteSurplusPods(pass)
  const { status, latest } = pass
  const remainingMs = timesIn(pass).end - latest.getTime()
  const moved = await movedPods(pass)
  const missing = missingPods(pass, moved)
  const isMoved = new Set(moved.map(injectionKey))
  const { runCount = 0, targetInjections = {} } = statusIn(pass)
  // A new run: a pod that no earlier pass has planned, or a pod for a target that was already injected, or has moved. Other
  // pods are planned in the status, and an earlier pass of the same run did not create them.
  const isNewRun = missing.some(({ target, kind }) => {
    const injection = targetInjections[target]?.[kind]
    return (
      injection?.injectorPodName === undefined ||
      injection.since !== undefined ||
      isMoved.has(injectionKey({ target, does: kind }))
    )
  })
  const mayRun = remainingMs >= MIN_REMAINING_MS && (!isNewRun || runCount < (specOf(pass).maxRuns ?? Infinity))
  if (missing.length > 0 && mayRun) {
    const run = isNewRun ? runCount + 1 : runCount
    status.runCount = run
    status.injectionStatus = statusIn(pass).injectionStatus ?? 'NotInjected'
    // This write also contains the fields that the pass would write at its end.
    status.injectedTargetsCount = statusIn(pass).injectedTargetsCount ?? 0
    status.targetInjections = plannedInjections(pass, { missing, isMoved, run })
    // M1
    await pass.save()
    rememberReplaced(pass, moved)
    await deleteChaosPods(pass, moved)
    return await createMissing(pass, missing)
  }
  await deleteChaosPods(pass, moved)
  return done
})

interface MissingPod {
  readonly target: string
  readonly kind: InjectorKindName
}

/** Deletes chaos pods of former targets, with dynamic targeting. */
async function deleteSurplusPods(pass: DisruptionPass): Promise<void> {
  if (specOf(pass).staticTargeting === true) return
  const targets = new Set(statusIn(pass).targets ?? [])
  const surplus = remainingChaosPods(pass).filter(({ target, isDeleting }) => !targets.has(target) && !isDeleting)
  await deleteChaosPods(pass, surplus)
}

/** Chaos pods of targets that now run on another node. */
async function movedPods(pass: DisruptionPass): Promise<readonly ChaosPod[]> {
  const pods = remainingChaosPods(pass).filter((pod) => pod.isOfNode !== true && !isReplaced(pass, pod))
  const { targets = [], ignoredTargets = [] } = statusIn(pass)
  const names = new Set(targets.filter((name) => !ignoredTargets.includes(name)))
  const podsOfTargets = pods.filter(({ target }) => names.has(target))
  if (podsOfTargets.length === 0) return []
  const targetNames = [...new Set(podsOfTargets.map(({ target }) => target))]
  const byName = targetsByName(pass) ?? (await readTargetsByName(pass, targetNames))
  return podsOfTargets.filter((pod) => isOnPreviousNode(pod, byName.get(pod.target)))
}

function missingPods(pass: DisruptionPass, moved: readonly ChaosPod[]): readonly MissingPod[] {
  const spec = specOf(pass)
  const { targets = [], ignoredTargets = [] } = statusIn(pass)
  const stays = (pod: ChaosPod) => !moved.includes(pod) && !isReplaced(pass, pod)
  const existing = new Set(remainingChaosPods(pass).filter(stays).map(injectionKey))
  return targets
    .filter((target) => !ignoredTargets.includes(target))
    .flatMap((target) =>
      kindNamesOf(spec).flatMap((kind) =>
        existing.has(injectionKey({ target, does: kind })) || isInjectedOnce(pass, target, kind)
          ? []
          : [{ target, kind }],
      ),
    )
}

/** Whether a node failure must not be injected again: with static targeting, a failed node does not fail again when it is back. */
export function isInjectedOnce(pass: DisruptionPass, target: string, kind: string): boolean {
  const wasInjected = statusIn(pass).targetInjections?.[target]?.[kind]?.since !== undefined
  return specOf(pass).staticTargeting === true && kind === 'node-failure' && wasInjected
}

/** The target injections of the status, with the names of the chaos pods to create. */
function plannedInjections(
  pass: DisruptionPass,
  {
    missing,
    isMoved,
    run,
  }: { readonly missing: readonly MissingPod[]; readonly isMoved: ReadonlySet<string>; readonly run: number },
): TargetInjections {
  const { targets = [], targetInjections = {} } = statusIn(pass)
  const { name, uid } = pass.target.metadata
  const isMissing = new Set(missing.map(({ target, kind }) => injectionKey({ target, does: kind })))
  const entries = targets.map((target) => {
    const kinds = kindNamesOf(specOf(pass)).map((kind) => {
      const injection = targetInjections[target]?.[kind]
      const key = injectionKey({ target, does: kind })
      if (!isMissing.has(key)) return [kind, injection ?? { injectionStatus: 'NotInjected' }] as const
      const isPlanned = injection?.injectorPodName !== undefined && injection.since === undefined && !isMoved.has(key)
      const injectorPodName = isPlanned ? injection.injectorPodName : chaosPodName({ name, uid, target, kind, run })
      return [kind, { injectionStatus: 'NotInjected', injectorPodName }] as const
    })
    return [target, Object.fromEntries(kinds)] as const
  })
  return Object.fromEntries(entries)
}

async function createMissing(pass: DisruptionPass, missing: readonly MissingPod[]): Promise<Outcome> {
  const targets = await readTargetsByName(pass, [...new Set(missing.map(({ target }) => target))])
  const needsCloudHosts = missing.some(({ kind }) => kind === 'network-disruption')
  const cloud = needsCloudHosts ? await findCloudHosts(pass) : { hosts: [] }
  const isCloudFailed = 'problem' in cloud
  if (isCloudFailed) {
    await pass.act.event({ type: 'Warning', reason: 'CreateFailed', message: cloud.problem })
    for (const { target, kind } of missing)
      if (kind === 'network-disruption') rememberUncreated(pass, { target, does: kind }, cloud.problem)
  }
  // M2
  const possible = isCloudFailed ? missing.filter(({ kind }) => kind !== 'network-disruption') : missing
  const cloudHosts = isCloudFailed ? [] : cloud.hosts
  await Promise.all(
    possible.map(async (wanted) => await createChaosPod(pass, wanted, targets.get(wanted.target), cloudHosts)),
  )
  return isCloudFailed ? later(CLOUD_RETRY_MS) : done
}

async function readTargetsByName(pass: DisruptionPass, names: readonly string[]): Promise<ReadonlyMap<string, Target>> {
  const alreadyRead = targetsByName(pass)
  if (alreadyRead !== undefined && names.every((name) => alreadyRead.has(name))) return alreadyRead
  const targets = await pass.refresh(isOfNodes(specOf(pass)) ? 'targetNodes' : 'targetPods', { names })
  return new Map(targets.map((target) => [target.metadata.name, target]))
}

async function createChaosPod(
  pass: DisruptionPass,
  { target, kind }: MissingPod,
  targetObject: Target | undefined,
  cloudHosts: readonly NetworkHost[],
): Promise<void> {
  // The target was deleted after it was chosen, or has no node; the next pass chooses again.
  if (targetObject === undefined || targetObject.node === '') return
  const { act } = pass
  const name = statusIn(pass).targetInjections?.[target]?.[kind]?.injectorPodName
  if (name === undefined) return
  const built = chaosPod({
    name,
    kind,
    target: targetObject,
    disruption: pass.target.metadata,
    spec: specOf(pass),
    cloudHosts,
    config: configIn(pass),
    times: timesIn(pass),
    now: pass.latest.getTime(),
  })
  if ('problem' in built) {
    const { reason, message } = built.problem
    rememberUncreated(pass, { target, does: kind }, message)
    await act.event({ type: 'Warning', reason, message: `${target}: ${message}`, occasion: name })
    return
  }
  const { namespace = '' } = built.pod.metadata
  const { name: disruption, namespace: disruptionNamespace } = pass.target.metadata
  // M3. The requests for the Event and the create start together, the Event first. Waiting for the Event would delay
  //   the creates of other chaos pods.
  const targetEvent = act.event({
    type: 'Normal',
    reason: 'Disrupted',
    occasion: name,
    about: targetObject,
    message: `target of Disruption ${disruptionNamespace}/${disruption}: chaos pod ${namespace}/${name} injects ${kind}`,
  })
  const [answer] = await Promise.all([act.create(built.pod, { owner: 'label' }), targetEvent])
  if (answer === 'created')
    await act.event({
      type: 'Normal',
      reason: 'ChaosPodCreated',
      occasion: name,
      message: `chaos pod ${namespace}/${name} injects ${kind} into ${target}`,
    })
}

/** The hosts of the cloud services in the spec, or the reason why they are unknown or too many. */
export async function findCloudHosts(
  pass: DisruptionPass,
): Promise<{ readonly hosts: readonly NetworkHost[] } | { readonly problem: string }> {
  const { network } = specOf(pass)
  const cloud = network?.cloud
  if (cloud === undefined || !hasCloud(cloud)) return { hosts: [] }
  const answer = await pass.call(clouds).findHosts({ cloud })
  if ('problem' in answer) return answer
  const [tooMany] = filterProblems(fieldsOf(network), 'spec.network', answer.hosts.length)
  return tooMany === undefined ? answer : { problem: problemText(tooMany) }
}
