// Chooses targets, and keeps them in the status before anything is done to them. Source: seeds/chaos-controller.txt "Injection phase", step 3;
// spec/chaos.md 2.3.
//
//   C1. Static: once. What is lost is not replaced, and stays in the status for those who read it (ignore-lost.ts).
//   C2. Dynamic: those that match stay chosen, those that do not any more are let go of, and missing ones are drawn.
//   C3. What another Disruption disturbs is not drawn, unless that is allowed and both do different things. So nothing is listed but the chaos pods of those
//       that are drawn.
//   C4. A pass knows where the worker that runs it is, and what is configured. So that workers on several nodes do not take turns in disturbing each other's,
//       the status keeps the nodes of all that have looked at the Disruption.
//   C5. What the API server is asked for follows the spec as it is by now (pass.ts). Where somebody has changed that though no webhook let him, it is not what
//       was meant: of the targets those stay that are there, and no others are chosen until the spec is as it was.

import { action, again, done, type Outcome } from '../../kit/index.ts'
import { DISRUPTION_NAMESPACE_LABEL, kindNamesOf, TARGET_LABEL } from '../contract.ts'
import { targetLabel } from './chaos-pod-name.ts'
import type { DisruptionSpec } from './kind.ts'
import type { Target } from './observed.ts'
import { sawTargets } from './observe-targets.ts'
import { configOf, type DisruptionPass, isOfNodes, specOf, statusIn } from './pass.ts'
import { changedFields } from './spec-hash.ts'
import { desiredCount, hitsNodes, keptTargets, matchingTargets, shuffled, wantedCount } from './selection.ts'

/** Nothing wakes a Disruption with static targeting that has found none. */
const LOOK_AGAIN_MS = 15_000
/** So many values of a label are asked for at once. */
const AT_ONCE = 50
const MOST_SPARED = 100

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
    await act.event({ type: 'Warning', reason: 'NoTargetsFound', message: noTargets(spec) })
    say(status, { targets: [], matching: 0, desired: isStatic ? 0 : wantedCount(spec.count, 0) })
    return isStatic ? again(LOOK_AGAIN_MS) : done
  }
  const desired = desiredCount(spec.count, names.length)
  // eslint-disable-next-line no-restricted-properties -- a draw by chance is meant; in a workflow it is the same in every replay
  const die = Math.random
  const { kept, missing } = keptTargets(current, names, desired, die)
  const known = new Set(kept)
  const order = shuffled(
    names.filter((name) => !known.has(name)),
    die,
  )
  const drawn = missing === 0 ? [] : await draw(pass, order, missing)
  if (drawn.length < missing)
    await act.event({
      type: 'Normal',
      reason: 'NoMoreTargets',
      message: `${missing - drawn.length} of ${desired} targets are missing: what else matches is disturbed already`,
    })
  const targets = [...kept, ...drawn].sort()
  say(status, { targets, matching: names.length, desired: isStatic ? desired : wantedCount(spec.count, names.length) })
  return isStatic && targets.length === 0 ? again(LOOK_AGAIN_MS) : done
})

/** What chaos-controller of 2021 has lost is in one list only. */
function hasChosen(pass: DisruptionPass): boolean {
  const { targets = [], ignoredTargets = [] } = statusIn(pass)
  return targets.length + ignoredTargets.length > 0
}

interface Chosen {
  readonly targets: readonly string[]
  readonly matching: number
  readonly desired: number
}

function say(status: DisruptionPass['status'], { targets, matching, desired }: Chosen): void {
  status.targets = [...targets]
  status.selectedTargetsCount = targets.length
  status.ignoredTargetsCount = matching - targets.length
  status.desiredTargetsCount = desired
}

async function matchingIn(pass: DisruptionPass): Promise<readonly Target[]> {
  const spec = specOf(pass)
  const { targets: current = [] } = statusIn(pass)
  const found = await foundIn(pass, spec, current)
  sawTargets(pass, found)
  return matchingTargets(found, spec, {
    current: new Set(current),
    ownNodes: hitsNodes(spec) ? sparedNodes(pass) : new Set(),
  })
}

async function foundIn(
  pass: DisruptionPass,
  spec: DisruptionSpec,
  current: readonly string[],
): Promise<readonly Target[]> {
  const isStatic = spec.staticTargeting === true
  // C5
  if (selectsOtherwise(spec, pass.target.spec))
    return await pass.refresh(isOfNodes(spec) ? 'targetNodes' : 'targetPods', { names: current })
  if (isOfNodes(spec)) return await pass.refresh(isStatic ? 'candidateNodes' : 'nodes')
  return await pass.refresh(isStatic ? 'candidatePods' : 'pods')
}

const SELECTING: ReadonlySet<string> = new Set(['level', 'selector', 'advancedSelector', 'staticTargeting'])

/** C5 */
function selectsOtherwise(kept: DisruptionSpec, live: DisruptionSpec): boolean {
  return changedFields(kept, live).some((field) => SELECTING.has(field))
}

/** C4. The oldest are forgotten. */
function sparedNodes(pass: DisruptionPass): ReadonlySet<string> {
  const { enableSafeguards, ownNodes = [] } = configOf(pass).controller
  if (!enableSafeguards) return new Set()
  const known = statusIn(pass).sparedNodes ?? []
  const spared = [...new Set([...known, ...ownNodes])].slice(-MOST_SPARED)
  if (spared.length > 0 && spared.join() !== known.join()) pass.status.sparedNodes = spared
  return new Set(spared)
}

/** So many of them, in their order (C3). */
async function draw(pass: DisruptionPass, order: readonly string[], missing: number): Promise<readonly string[]> {
  const drawn: string[] = []
  for (let at = 0; at < order.length && drawn.length < missing; at += AT_ONCE) {
    const names = order.slice(at, at + AT_ONCE)
    const taken = await takenOf(pass, names)
    drawn.push(...names.filter((name) => !taken.has(name)).slice(0, missing - drawn.length))
  }
  return drawn
}

async function takenOf(pass: DisruptionPass, names: readonly string[]): Promise<ReadonlySet<string>> {
  const spec = specOf(pass)
  const { name, namespace } = pass.target.metadata
  const labels = {
    [TARGET_LABEL]: names.map(targetLabel),
    // Pods of one name in other namespaces are others.
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

function noTargets({ level, onInit }: { readonly level?: string | undefined; readonly onInit?: boolean | undefined }) {
  const what = level === 'node' ? 'no node that is ready' : onInit === true ? 'no pod that waits' : 'no pod that runs'
  return `${what} is selected by the selectors and the filter`
}
