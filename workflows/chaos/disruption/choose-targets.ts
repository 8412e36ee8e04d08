// Chooses targets and records them in the status before it injects anything. Source: seeds/chaos-controller.txt
// "Injection phase", step 3; spec/chaos.md 2.3, B14.
//
// C1. Static targeting chooses once. A lost target is not replaced and stays in the status.
// C2. Dynamic targeting keeps the targets that still match, drops the others, and draws missing ones.
// C3. A target of another Disruption is not drawn, unless `allowDisruptedTargets` is set and the kinds differ. Only the
//   chaos pods of drawn targets are listed.
// C4. A pass knows the node of its own worker and the configuration. `status.sparedNodes` collects the nodes of all
//   workers that have processed the Disruption, so that workers do not disturb each other's nodes.
// C5. The queries follow the live spec (pass.ts). If a user has changed the selectors without a webhook, the pass keeps
//   the existing targets and chooses no others until the spec is restored.
// I1. With static targeting, a target whose chaos pod a user has deleted is lost. The status records this before the
//   pass releases a finalizer, so that the next worker knows it after a crash. A chaos pod that disappeared while no
//   worker ran counts as deleted if its target had been injected.
// I2. A lost target stays in `status.targets` for readers. It counts as ignored and no longer as desired.
// I3. A Disruption that has expired or is being deleted loses no targets, because its chaos pods are meant to end. A
//   failed node, which takes its chaos pod along, is not lost either.
// I4. When the pass takes over a Disruption of chaos-controller, missing chaos pods are created, as chaos-controller
//   would do.

import { action, again, done, type Outcome } from '../../kit/index.ts'
import { DISRUPTION_NAMESPACE_LABEL, kindNamesOf, TARGET_LABEL } from '../contract.ts'
import { targetLabel } from './chaos-pod.ts'
import type { DisruptionSpec } from './kind.ts'
import { ALL_TAKEN, noTargetsText } from './missing-targets.ts'
import { injectionKey, type Target } from './observed.ts'
import { rememberTargets } from './observe-targets.ts'
import { configOf, type DisruptionPass, isOfNodes, specOf, statusIn } from './pass.ts'
import { changedFields } from './spec-hash.ts'
import { desiredCount, hitsNodes, retainTargets, matchingTargets, shuffled, requestedCount } from './selection.ts'
import { isExpired } from './expire.ts'
import { isInjectedOnce } from './create-chaos-pods.ts'
import { isReplaced } from './moved-targets.ts'

/** No event wakes a Disruption with static targeting that has found no target. */
const CHOOSE_AGAIN_MS = 15_000
/** The number of label values in one list request. */
const LABEL_VALUES_PER_LIST = 50
const MAX_SPARED_NODES = 100

export const chooseTargets = action<DisruptionPass>('chooseTargets', async (pass): Promise<Outcome> => {
  const { status, act } = pass
  const spec = specOf(pass)
  const { targets: current = [] } = statusIn(pass)
  const isStatic = spec.staticTargeting === true
  // C1
  if (isStatic && hasChosen(pass)) return done
  const matching = await matchingIn(pass)
  const names = matching.map(({ metadata }) => metadata.name)
  if (names.length === 0) {
    await act.event({
      type: 'Warning',
      reason: 'NoTargetsFound',
      message: noTargetsText(spec, pass.target.metadata.namespace),
    })
    setTargetStatus(status, { targets: [], matching: 0, desired: isStatic ? 0 : requestedCount(spec.count, 0) })
    return isStatic ? again(CHOOSE_AGAIN_MS) : done
  }
  const desired = desiredCount(spec.count, names.length)
  // eslint-disable-next-line no-restricted-properties -- a draw by chance is meant; in a workflow it is the same in every replay
  const random = Math.random
  const { retained, missing } = retainTargets(current, names, desired, random)
  const known = new Set(retained)
  const order = shuffled(
    names.filter((name) => !known.has(name)),
    random,
  )
  const drawn = missing === 0 ? [] : await draw(pass, order, missing)
  if (drawn.length < missing)
    await act.event({
      type: 'Normal',
      reason: 'NoMoreTargets',
      message: `selected ${desired - (missing - drawn.length)} of ${desired} targets: ${ALL_TAKEN}`,
    })
  const targets = [...retained, ...drawn].sort()
  setTargetStatus(status, {
    targets,
    matching: names.length,
    desired: isStatic ? desired : requestedCount(spec.count, names.length),
  })
  return isStatic && targets.length === 0 ? again(CHOOSE_AGAIN_MS) : done
})

/** A status of chaos-controller from 2021 has lost targets in `ignoredTargets` only. */
function hasChosen(pass: DisruptionPass): boolean {
  const { targets = [], ignoredTargets = [] } = statusIn(pass)
  return targets.length + ignoredTargets.length > 0
}

interface TargetChoice {
  readonly targets: readonly string[]
  readonly matching: number
  readonly desired: number
}

function setTargetStatus(status: DisruptionPass['status'], { targets, matching, desired }: TargetChoice): void {
  status.targets = [...targets]
  status.selectedTargetsCount = targets.length
  status.ignoredTargetsCount = matching - targets.length
  status.desiredTargetsCount = desired
}

async function matchingIn(pass: DisruptionPass): Promise<readonly Target[]> {
  const spec = specOf(pass)
  const { targets: current = [] } = statusIn(pass)
  const found = await readCandidates(pass, spec, current)
  rememberTargets(pass, found)
  return matchingTargets(found, spec, {
    current: new Set(current),
    ownNodes: hitsNodes(spec) ? sparedNodes(pass) : new Set(),
  })
}

async function readCandidates(
  pass: DisruptionPass,
  spec: DisruptionSpec,
  current: readonly string[],
): Promise<readonly Target[]> {
  const isStatic = spec.staticTargeting === true
  // C5
  if (selectorsDiffer(spec, pass.target.spec))
    return await pass.refresh(isOfNodes(spec) ? 'targetNodes' : 'targetPods', { names: current })
  if (isOfNodes(spec)) return await pass.refresh(isStatic ? 'candidateNodes' : 'nodes')
  return await pass.refresh(isStatic ? 'candidatePods' : 'pods')
}

const SELECTOR_FIELDS: ReadonlySet<string> = new Set(['level', 'selector', 'advancedSelector', 'staticTargeting'])

/** C5 */
function selectorsDiffer(original: DisruptionSpec, live: DisruptionSpec): boolean {
  return changedFields(original, live).some((field) => SELECTOR_FIELDS.has(field))
}

/** C4. Drops the oldest nodes. */
function sparedNodes(pass: DisruptionPass): ReadonlySet<string> {
  const { enableSafeguards, ownNodes = [] } = configOf(pass).controller
  if (!enableSafeguards) return new Set()
  const known = statusIn(pass).sparedNodes ?? []
  const spared = [...new Set([...known, ...ownNodes])].slice(-MAX_SPARED_NODES)
  if (spared.length > 0 && spared.join() !== known.join()) pass.status.sparedNodes = spared
  return new Set(spared)
}

/** Draws the missing number of targets in the given order (C3). */
async function draw(pass: DisruptionPass, order: readonly string[], missing: number): Promise<readonly string[]> {
  const result: string[] = []
  for (let at = 0; at < order.length && result.length < missing; at += LABEL_VALUES_PER_LIST) {
    const names = order.slice(at, at + LABEL_VALUES_PER_LIST)
    const unavailable = await targetsOfOthers(pass, names)
    result.push(...names.filter((name) => !unavailable.has(name)).slice(0, missing - result.length))
  }
  return result
}

async function targetsOfOthers(pass: DisruptionPass, names: readonly string[]): Promise<ReadonlySet<string>> {
  const spec = specOf(pass)
  const { name, namespace } = pass.target.metadata
  const labels = {
    [TARGET_LABEL]: names.map(targetLabel),
    // Pods with the same name in other namespaces are different targets.
    ...(!isOfNodes(spec) && { [DISRUPTION_NAMESPACE_LABEL]: [namespace] }),
  }
  const pods = await pass.refresh('allChaosPods', { labels })
  const kinds = new Set<string>(kindNamesOf(spec))
  const isShared = spec.allowDisruptedTargets === true
  const others = pods.filter(
    ({ disruption, disruptionNamespace, isDisturbing, does }) =>
      (disruption !== name || disruptionNamespace !== namespace) && isDisturbing && !(isShared && !kinds.has(does)),
  )
  return new Set(others.map(({ target }) => target))
}

export const ignoreLostTargets = action<DisruptionPass>('ignoreLost', async (pass) => {
  // I3
  if (specOf(pass).staticTargeting !== true || isExpired(pass)) return done
  const { targets = [], ignoredTargets = [], ignoredTargetsCount = 0, desiredTargetsCount = 0 } = statusIn(pass)
  const known = new Set(ignoredTargets)
  const lost = lostTargets(pass, targets).filter((target) => !known.has(target))
  if (lost.length === 0) return done
  const { status } = pass
  status.ignoredTargets = [...ignoredTargets, ...lost].sort()
  // I2
  status.selectedTargetsCount = targets.filter((target) => !known.has(target) && !lost.includes(target)).length
  status.ignoredTargetsCount = ignoredTargetsCount + lost.length
  status.desiredTargetsCount = Math.max(0, desiredTargetsCount - lost.length)
  // I1
  await pass.save()
  return done
})

function lostTargets(pass: DisruptionPass, targets: readonly string[]): readonly string[] {
  const { chaosPods } = pass.state
  const deleting = new Set(chaosPods.filter((pod) => pod.isDeleting && !isReplaced(pass, pod)).map(injectionKey))
  const existing = new Set(chaosPods.map(injectionKey))
  const { targetInjections = {} } = statusIn(pass)
  // I4
  const isOurs = pass.target.status?.originalSpec !== undefined
  return targets.filter((target) =>
    Object.entries(targetInjections[target] ?? {}).some(([does, { since }]) => {
      const key = injectionKey({ target, does })
      if (isInjectedOnce(pass, target, does)) return false
      return deleting.has(key) || (isOurs && since !== undefined && !existing.has(key))
    }),
  )
}
