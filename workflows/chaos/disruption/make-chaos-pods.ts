// Makes one chaos pod for each target and kind, and deletes those of targets that are none any more. Source: seeds/chaos-controller.txt "Injection phase",
// step 4; spec/chaos.md 2.4.
//
//   M1. Targets and the names of their chaos pods are in the status before the first one is made, so that a pass that is repeated finds what is there and
//       makes what is not. What had been injected and is made again is another run, with other names.
//   M2. What cannot be made for one target keeps the others from nothing.
//   M3. A target is told before its chaos pod is made: who dies between the two is followed by one who does both.

import { action, done, later, type Outcome } from '../../kit/index.ts'
import { type InjectorKindName, kindNamesOf } from '../contract.ts'
import { chaosPodName } from './chaos-pod-name.ts'
import { chaosPod } from './chaos-pod.ts'
import { chaosPodsLeft, deleteChaosPods } from './end-chaos-pods.ts'
import { findCloudHosts } from './find-cloud-hosts.ts'
import type { TargetInjections } from './kind.ts'
import { seenTargetsIn } from './observe-targets.ts'
import { isOnFormerNode, isReplaced, rememberReplaced } from './moved-targets.ts'
import type { ChaosPod, Target } from './observed.ts'
import type { NetworkHost } from './schema/network.ts'
import { configIn, type DisruptionPass, isOfNodes, specOf, statusIn, timesIn } from './pass.ts'

/** What has less time left is not begun. Source: spec/chaos.md 2.4. */
const LEAST_MS = 1000
const ASK_CLOUD_AGAIN_MS = 15_000

export const makeChaosPods = action<DisruptionPass>('makeChaosPods', async (pass) => {
  await removeSurplus(pass)
  const { status, latest } = pass
  const left = timesIn(pass).end - latest.getTime()
  const moved = await movedIn(pass)
  const missing = missingIn(pass, moved)
  const isMoved = new Set(moved.map(keyOf))
  const { runCount = 0, targetInjections = {} } = statusIn(pass)
  const isNewRun = missing.some(({ target, kind }) => {
    const known = targetInjections[target]?.[kind]
    return (
      known?.injectorPodName === undefined || known.since !== undefined || isMoved.has(keyOf({ target, does: kind }))
    )
  })
  const mayRun = left >= LEAST_MS && (!isNewRun || runCount < (specOf(pass).maxRuns ?? Infinity))
  if (missing.length > 0 && mayRun) {
    const run = isNewRun ? runCount + 1 : runCount
    status.runCount = run
    status.injectionStatus = statusIn(pass).injectionStatus ?? 'NotInjected'
    // What this pass will say anyway is said in the same write.
    status.injectedTargetsCount = statusIn(pass).injectedTargetsCount ?? 0
    status.targetInjections = planned(pass, { missing, isMoved, run })
    // M1
    await pass.save()
    rememberReplaced(pass, moved)
    await deleteChaosPods(pass, moved)
    return await make(pass, missing)
  }
  await deleteChaosPods(pass, moved)
  return done
})

interface Wanted {
  readonly target: string
  readonly kind: InjectorKindName
}

/** With dynamic targeting: chaos pods of what was chosen before. */
async function removeSurplus(pass: DisruptionPass): Promise<void> {
  if (specOf(pass).staticTargeting === true) return
  const targets = new Set(statusIn(pass).targets ?? [])
  const surplus = chaosPodsLeft(pass).filter(({ target, isDeleting }) => !targets.has(target) && !isDeleting)
  await deleteChaosPods(pass, surplus)
}

/** Chaos pods of targets that are on another node by now. */
async function movedIn(pass: DisruptionPass): Promise<readonly ChaosPod[]> {
  const pods = chaosPodsLeft(pass).filter((pod) => pod.isOfNode !== true && !isReplaced(pass, pod))
  const { targets = [], ignoredTargets = [] } = statusIn(pass)
  const names = new Set(targets.filter((name) => !ignoredTargets.includes(name)))
  const own = pods.filter(({ target }) => names.has(target))
  if (own.length === 0) return []
  const found = seenTargetsIn(pass) ?? (await targetsOf(pass, [...new Set(own.map(({ target }) => target))]))
  return own.filter((pod) => isOnFormerNode(pod, found.get(pod.target)))
}

function keyOf({ target, does }: Pick<ChaosPod, 'target' | 'does'>): string {
  return `${does} ${target}`
}

function missingIn(pass: DisruptionPass, moved: readonly ChaosPod[]): readonly Wanted[] {
  const spec = specOf(pass)
  const { targets = [], ignoredTargets = [] } = statusIn(pass)
  const stays = (pod: ChaosPod) => !moved.includes(pod) && !isReplaced(pass, pod)
  const there = new Set(chaosPodsLeft(pass).filter(stays).map(keyOf))
  return targets
    .filter((target) => !ignoredTargets.includes(target))
    .flatMap((target) =>
      kindNamesOf(spec).flatMap((kind) =>
        there.has(`${kind} ${target}`) || isInjectedOnce(pass, target, kind) ? [] : [{ target, kind }],
      ),
    )
}

/** A node that has failed is not made to fail again when it is back, where targets are chosen once. */
export function isInjectedOnce(pass: DisruptionPass, target: string, kind: string): boolean {
  const isKnown = statusIn(pass).targetInjections?.[target]?.[kind]?.since !== undefined
  return specOf(pass).staticTargeting === true && kind === 'node-failure' && isKnown
}

/** What the status has of the targets, with the names of what is about to be made. */
function planned(
  pass: DisruptionPass,
  {
    missing,
    isMoved,
    run,
  }: { readonly missing: readonly Wanted[]; readonly isMoved: ReadonlySet<string>; readonly run: number },
): TargetInjections {
  const { targets = [], targetInjections = {} } = statusIn(pass)
  const { name, uid } = pass.target.metadata
  const isMissing = new Set(missing.map(({ target, kind }) => `${kind} ${target}`))
  const entries = targets.map((target) => {
    const kinds = kindNamesOf(specOf(pass)).map((kind) => {
      const known = targetInjections[target]?.[kind]
      if (!isMissing.has(`${kind} ${target}`)) return [kind, known ?? { injectionStatus: 'NotInjected' }] as const
      const isElsewhere = isMoved.has(keyOf({ target, does: kind }))
      const keeps = known?.injectorPodName !== undefined && known.since === undefined && !isElsewhere
      const injectorPodName = keeps ? known.injectorPodName : chaosPodName({ name, uid, target, kind, run })
      return [kind, { injectionStatus: 'NotInjected', injectorPodName }] as const
    })
    return [target, Object.fromEntries(kinds)] as const
  })
  return Object.fromEntries(entries)
}

async function make(pass: DisruptionPass, missing: readonly Wanted[]): Promise<Outcome> {
  const found = await targetsOf(pass, [...new Set(missing.map(({ target }) => target))])
  const takesHosts = missing.some(({ kind }) => kind === 'network-disruption')
  const cloud = takesHosts ? await findCloudHosts(pass) : { hosts: [] }
  const isHeldUp = 'problem' in cloud
  if (isHeldUp) await pass.act.event({ type: 'Warning', reason: 'CreateFailed', message: cloud.problem })
  // M2
  const possible = isHeldUp ? missing.filter(({ kind }) => kind !== 'network-disruption') : missing
  const cloudHosts = isHeldUp ? [] : cloud.hosts
  await Promise.all(possible.map(async (wanted) => await makeOne(pass, wanted, found.get(wanted.target), cloudHosts)))
  return isHeldUp ? later(ASK_CLOUD_AGAIN_MS) : done
}

async function targetsOf(pass: DisruptionPass, names: readonly string[]): Promise<ReadonlyMap<string, Target>> {
  const seen = seenTargetsIn(pass)
  if (seen !== undefined && names.every((name) => seen.has(name))) return seen
  const found = await pass.refresh(isOfNodes(specOf(pass)) ? 'targetNodes' : 'targetPods', { names })
  return new Map(found.map((target) => [target.metadata.name, target]))
}

async function makeOne(
  pass: DisruptionPass,
  { target, kind }: Wanted,
  found: Target | undefined,
  cloudHosts: readonly NetworkHost[],
): Promise<void> {
  // It has gone since it was chosen: the next pass chooses again.
  if (found === undefined || found.node === '') return
  const { act } = pass
  const name = statusIn(pass).targetInjections?.[target]?.[kind]?.injectorPodName
  if (name === undefined) return
  const made = chaosPod({
    name,
    kind,
    target: found,
    disruption: pass.target.metadata,
    spec: specOf(pass),
    cloudHosts,
    config: configIn(pass),
    times: timesIn(pass),
    now: pass.latest.getTime(),
  })
  if ('problem' in made) {
    const { reason, message } = made.problem
    await act.event({ type: 'Warning', reason, message: `${target}: ${message}`, occasion: name })
    return
  }
  const { namespace = '' } = made.pod.metadata
  const { name: disruption, namespace: home } = pass.target.metadata
  // M3. It goes along with the creation, before that; who waited in between would let another chaos pod's creation take it.
  const told = act.event({
    type: 'Normal',
    reason: 'Disrupted',
    occasion: name,
    about: found,
    message: `Disruption ${home}/${disruption} has chosen it: chaos pod ${namespace}/${name} does ${kind} to it`,
  })
  const [answer] = await Promise.all([act.create(made.pod, { owner: 'label' }), told])
  if (answer === 'created')
    await act.event({
      type: 'Normal',
      reason: 'ChaosPodCreated',
      occasion: name,
      message: `chaos pod ${namespace}/${name} does ${kind} to ${target}`,
    })
}
