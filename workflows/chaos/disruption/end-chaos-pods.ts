// Lets go of chaos pods that are being deleted, in each pass: whoever deletes them, their finalizer holds them until what they did is undone, or nothing of it
// can be left. Source: seeds/chaos-controller.txt "Cleanup phase", step 2; spec/chaos.md 2.7.

import { action, done, later } from '../../kit/index.ts'
import { CHAOS_POD_FINALIZER } from '../contract.ts'
import { letGoCommand } from '../let-go-command.ts'
import { isOnFormerNode } from './moved-targets.ts'
import type { ChaosPod, Target } from './observed.ts'
import { type DisruptionPass, type EndingPass, statusIn } from './pass.ts'
import { needsHealth, type TargetHealth, terminationOf } from './termination.ts'

/** The chaos pods' events wake it; this is for what no event tells of, such as a target that is gone. */
export const LOOK_AGAIN_MS = 10_000

export const endChaosPods = action<DisruptionPass>('endChaosPods', async (pass) => {
  const { chaosPods } = pass.state
  await letGo(pass, chaosPods)
  await tellFailures(pass)
  await tellSimulated(pass)
  // A target that has lost its labels wakes nobody when it goes.
  return chaosPods.some((pod) => needsHealth(pod) && !wasReleased(pass, pod)) ? later(LOOK_AGAIN_MS) : done
})

/** Deletes chaos pods that nobody has deleted. What had not begun, or has ended already, goes at once; of the others a pass that follows lets go. */
export async function deleteChaosPods(pass: DisruptionPass, pods: readonly ChaosPod[]): Promise<void> {
  await Promise.all(pods.map(async (pod) => await pass.act.remove(pod)))
  if (pods.some(({ phase }) => phase !== 'Running')) await letGo(pass, await pass.refresh('chaosPods'))
}

/**
 * @param tells what those that cannot clean are told about: their Disruption, or each itself where that is gone.
 * @returns how many have been let go of.
 */
export async function letGo(
  pass: EndingPass,
  pods: readonly ChaosPod[],
  tells: 'disruption' | 'chaosPod' = 'disruption',
): Promise<number> {
  const { act, status } = pass
  const health = await healthOf(pass, pods.filter(needsHealth))
  const ended = pods.map((pod) => ({ pod, end: terminationOf(pod, health.get(pod.metadata.uid)) }))
  const released = ended.filter(({ end }) => end === 'release')
  await Promise.all(
    released.map(async ({ pod }) => {
      if ((await act.release(pod, CHAOS_POD_FINALIZER)) === 'gone') remember(goneIn, pass, pod)
      remember(releasedIn, pass, pod)
    }),
  )
  const stuck = ended.filter(({ end }) => end === 'stuck').map(({ pod }) => pod)
  stuckIn.set(pass, new Set(stuck.map(({ metadata }) => metadata.name)))
  if (statusIn(pass).isStuckOnRemoval === true || stuck.length > 0) status.isStuckOnRemoval = stuck.length > 0
  await Promise.all(stuck.map(async (pod) => await tellStuck(pass, pod, tells)))
  return released.length
}

// What one step of a pass finds and another one writes, or asks for.
const stuckIn = new WeakMap<EndingPass, ReadonlySet<string>>()
const releasedIn = new WeakMap<EndingPass, ReadonlySet<string>>()
const goneIn = new WeakMap<EndingPass, ReadonlySet<string>>()

function remember(known: typeof goneIn, pass: EndingPass, { metadata }: ChaosPod): void {
  known.set(pass, new Set([...(known.get(pass) ?? []), metadata.uid]))
}

/** Whether this pass has taken off the last finalizer of one that is being deleted. */
export function isGone(pass: EndingPass, { metadata }: ChaosPod): boolean {
  return goneIn.get(pass)?.has(metadata.uid) === true
}

/**
 * Those that are there, as this pass has seen them, less those that it has made go: nobody tells the next pass of that, for it is our own write.
 */
export function chaosPodsLeft(pass: EndingPass): readonly ChaosPod[] {
  return pass.state.chaosPods.filter((pod) => !isGone(pass, pod))
}

/** Whether this pass has taken our finalizer off. */
export function wasReleased(pass: EndingPass, { metadata }: ChaosPod): boolean {
  return releasedIn.get(pass)?.has(metadata.uid) === true
}

/** The names of the chaos pods that this pass has found unable to clean. */
export function stuckPodsIn(pass: EndingPass): ReadonlySet<string> {
  return stuckIn.get(pass) ?? new Set()
}

/** Of those that nobody has deleted yet: why it is not injected, or not any more. */
async function tellFailures({ act, state }: DisruptionPass): Promise<void> {
  const failed = state.chaosPods.filter(({ phase, isDeleting }) => phase === 'Failed' && !isDeleting)
  await Promise.all(
    failed.map(async ({ metadata, target, does, reason, message: said }) => {
      const { namespace = '', name, uid } = metadata
      const why = reason === '' ? '' : ` (${reason})`
      const message = `chaos pod ${namespace}/${name}, which does ${does} to ${target}, has failed${why}${said === undefined ? '; its log says why' : `: ${said}`}`
      await act.event({ type: 'Warning', reason: 'ChaosPodWarningState', message, occasion: uid })
    }),
  )
}

/** The reader of `Injected` must learn that nothing is disturbed. */
async function tellSimulated({ act, state }: DisruptionPass): Promise<void> {
  const simulated = state.chaosPods.filter((pod) => pod.isSimulated === true && pod.isReady && !pod.isDeleting)
  await Promise.all(
    simulated.map(async ({ metadata: { namespace = '', name, uid }, target, does, message = '' }) => {
      const text = `chaos pod ${namespace}/${name}: ${does} on ${target} is ${message}`
      await act.event({ type: 'Normal', reason: 'Simulated', message: text, occasion: uid })
    }),
  )
}

async function tellStuck({ act }: EndingPass, pod: ChaosPod, tells: 'disruption' | 'chaosPod'): Promise<void> {
  const { target, does } = pod
  const { namespace = '', name, uid } = pod.metadata
  const message = `chaos pod ${namespace}/${name} (${does} on ${target}) could not clean up${pod.message === undefined ? '' : ` (${pod.message})`}: read its log, undo the remaining changes, then remove its finalizer: ${letGoCommand(namespace, name)}`
  await act.event({
    type: 'Warning',
    reason: 'StuckOnRemoval',
    message,
    occasion: uid,
    ...(tells === 'chaosPod' && { about: pod }),
  })
}

/** By uid of the chaos pod; those whose target can be cleaned are left out. */
async function healthOf(pass: EndingPass, pods: readonly ChaosPod[]): Promise<ReadonlyMap<string, TargetHealth>> {
  const names = [...new Set(pods.map(({ target }) => target))]
  if (names.length === 0) return new Map()
  const healthIn = pods.every(({ isOfNode }) => isOfNode)
    ? nodeHealth(await pass.refresh('targetNodes', { names }))
    : await podHealth(pass, names)
  return new Map(
    pods.flatMap((pod) => {
      const health = healthIn(pod)
      return health === undefined ? [] : [[pod.metadata.uid, health] as const]
    }),
  )
}

type HealthOf = (pod: ChaosPod) => TargetHealth | undefined

async function podHealth(pass: EndingPass, names: readonly string[]): Promise<HealthOf> {
  const targets = await pass.refresh('targetPods', { names })
  const nodes = await pass.refresh('targetNodes', { names: targets.flatMap(({ node }) => (node === '' ? [] : [node])) })
  const ready = new Set(nodes.filter(({ isRunning }) => isRunning).map(({ metadata }) => metadata.name))
  const found = new Map(targets.map((target) => [target.metadata.name, target]))
  return (pod) => {
    const target = found.get(pod.target)
    // One of its name on another node is another pod.
    if (target === undefined || isOnFormerNode(pod, target)) return 'gone'
    // A pod that has waited for its disruption has been disturbed, though it does not run yet.
    if (!target.isRunning && target.isStarting !== true) return 'not running'
    // The containers of a deleted node are gone too, so no injector can clean up.
    return ready.has(target.node) ? undefined : 'node not ready'
  }
}

function nodeHealth(nodes: readonly Target[]): HealthOf {
  const found = new Map(nodes.map((node) => [node.metadata.name, node]))
  return ({ target }) => {
    const node = found.get(target)
    if (node === undefined) return 'gone'
    return node.isRunning ? undefined : 'node not ready'
  }
}
