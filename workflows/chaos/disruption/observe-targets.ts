// Tells what becomes of the targets while they are disturbed: an optional feature of the operators (`enableObserver`). Source: spec/chaos.md 1.10.
//
//   T1. What choosing has read is looked at, and nothing is read beside it but Events (hear-warnings.ts); with static targeting, which reads nothing, what
//       the selectors select.
//   T2. What was told stands in the status with the next write; a pass that dies before tells the same Event again, which is one.
//   T3. Of a pod that is being deleted nothing is told, neither that it is in trouble nor that it is not any more; what was told of it holds.
//   T4. It is told on the Disruption, and on the target, whose owner knows nothing of the Disruption. Those Warnings nobody hears again (pass.ts).

import { action, done } from '../../kit/index.ts'
import { kindNamesOf } from '../contract.ts'
import { type NewsOfTarget, observeTargetStates, type TargetStates } from './observation.ts'
import type { Target } from './observed.ts'
import { configOf, type DisruptionPass, isOfNodes, specOf, statusIn } from './pass.ts'
import { heardOf } from './hear-warnings.ts'

// What one step of a pass reads and another one looks at (T1).
const seenIn = new WeakMap<DisruptionPass, readonly Target[]>()

/** Remembers what was read in this pass. */
export function sawTargets(pass: DisruptionPass, found: readonly Target[]): readonly Target[] {
  seenIn.set(pass, found)
  return found
}

/** What was read in this pass, by name; undefined: nothing was. */
export function seenTargetsIn(pass: DisruptionPass): ReadonlyMap<string, Target> | undefined {
  const seen = seenIn.get(pass)
  return seen && new Map(seen.map((target) => [target.metadata.name, target]))
}

export const observeTargets = action<DisruptionPass>('observeTargets', async (pass) => {
  const { act, status, target } = pass
  const { targets = [], targetStates: before = {} } = statusIn(pass)
  const former = target.status?.targets ?? []
  const names = new Set([...targets, ...former])
  if (!configOf(pass).controller.enableObserver || names.size === 0) return done
  const ofNodes = isOfNodes(specOf(pass))
  // A node that fails on purpose is in no trouble.
  if (ofNodes && specOf(pass).nodeFailure !== undefined) return done
  const found = (await foundIn(pass, ofNodes)).filter(({ metadata }) => names.has(metadata.name))
  const disturbed = disturbedIn(pass)
  // T3
  const going = found.filter(({ isDeleting }) => isDeleting === true)
  const { heard, isHeard, next } = heardOf(
    pass,
    found.filter(({ isDeleting }) => isDeleting !== true),
  )
  const seen = heard.map(({ target: { metadata }, trouble }) => {
    const { name, uid, resourceVersion } = metadata
    const isKnown = former.includes(name)
    return { name, trouble, version: `${uid}/${resourceVersion}`, isDisturbed: disturbed.has(name), isKnown, isHeard }
  })
  const { states, news, onTargets } = observeTargetStates(seen, before, ofNodes ? 'Node' : 'Pod')
  await Promise.all(news.map(async (one) => await act.event(one)))
  await Promise.all(onTargets.map(async (one) => await tellOn(pass, one, found)))
  const kept = keptStates({ ...statesOf(going, before), ...states }, targets)
  if (Object.keys(kept).length > 0 || Object.keys(before).length > 0) status.targetStates = writable(kept)
  return next
})

/** T3 */
function statesOf(going: readonly Target[], before: TargetStates): TargetStates {
  const names = new Set(going.map(({ metadata }) => metadata.name))
  return Object.fromEntries(Object.entries(before).filter(([name]) => names.has(name)))
}

/** T4 */
async function tellOn(
  { act, target: { metadata } }: DisruptionPass,
  { name, message, ...news }: NewsOfTarget,
  found: readonly Target[],
): Promise<void> {
  const about = found.find((one) => one.metadata.name === name)
  if (about === undefined) return
  const disruption = `${metadata.namespace}/${metadata.name}`
  await act.event({ ...news, about, message: `target of disruption ${disruption}: ${message}` })
}

/** T2. Of one that is no target any more nothing is kept. */
function keptStates(states: TargetStates, targets: readonly string[]): TargetStates {
  return Object.fromEntries(Object.entries(states).filter(([name]) => targets.includes(name)))
}

async function foundIn(pass: DisruptionPass, ofNodes: boolean): Promise<readonly Target[]> {
  return seenIn.get(pass) ?? sawTargets(pass, await pass.refresh(ofNodes ? 'candidateNodes' : 'candidatePods'))
}

/** With a chaos pod of each kind that is ready. */
function disturbedIn(pass: DisruptionPass): ReadonlySet<string> {
  const kinds = kindNamesOf(specOf(pass))
  const ready = pass.state.chaosPods.filter(({ isReady }) => isReady)
  const does = new Set(ready.map(({ target, does: kind }) => `${kind} ${target}`))
  return new Set(ready.map(({ target }) => target).filter((name) => kinds.every((kind) => does.has(`${kind} ${name}`))))
}

function writable(states: TargetStates) {
  return Object.fromEntries(
    Object.entries(states).map(([name, { restarts, warnings }]) => [
      name,
      { ...(restarts && { restarts: { ...restarts } }), ...(warnings && { warnings: [...warnings] }) },
    ]),
  )
}
