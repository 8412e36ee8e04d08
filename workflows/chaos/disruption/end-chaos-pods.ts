// Releases chaos pods that are being deleted, in each pass: the finalizer keeps a chaos pod until its changes are
// undone, or until nothing of them can be left. Source: seeds/chaos-controller.txt "Cleanup phase", step 2;
// spec/chaos.md 2.7.
//
// O1. If a user removes the finalizer of a Disruption, its chaos pods are deleted and released by the same rules. A
//   chaos pod that cannot clean up is then reported on the chaos pod itself. chaos-controller leaves chaos pods whose
//   target exists. Source: spec/chaos.md 2.9, B20.

import { action, done, later, again, type Outcome } from '../../kit/index.ts'
import { CHAOS_POD_FINALIZER, leavesNothing, removeFinalizerCommand } from '../contract.ts'
import { isOnPreviousNode } from './moved-targets.ts'
import type { ChaosPod, Target } from './observed.ts'
import { type DisruptionPass, type EndingPass, statusIn } from './pass.ts'

/** Events of chaos pods wake the pass; this interval covers changes without an event, such as a deleted target. */
export const RECHECK_MS = 10_000

export const endChaosPods = action<DisruptionPass>('endChaosPods', async (pass) => {
  const { chaosPods } = pass.state
  await releaseChaosPods(pass, chaosPods)
  await reportFailures(pass)
  await reportNotInjected(pass)
  await reportSimulated(pass)
  // The deletion of a target that has lost its labels wakes no pass.
  return chaosPods.some((pod) => needsHealth(pod) && !wasReleased(pass, pod)) ? later(RECHECK_MS) : done
})

/** Deletes chaos pods. Releases pods that have not started or have ended; a later pass releases the others. */
export async function deleteChaosPods(pass: DisruptionPass, pods: readonly ChaosPod[]): Promise<void> {
  await Promise.all(pods.map(async (pod) => await pass.act.remove(pod)))
  if (pods.some(({ phase }) => phase !== 'Running')) await releaseChaosPods(pass, await pass.refresh('chaosPods'))
}

/**
 * Releases the chaos pods whose termination allows it, and reports those that are stuck.
 * @param subject the object of the Events: the Disruption, or each chaos pod if the Disruption is deleted.
 * @returns the number of released chaos pods.
 */
export async function releaseChaosPods(
  pass: EndingPass,
  pods: readonly ChaosPod[],
  subject: 'disruption' | 'chaosPod' = 'disruption',
): Promise<number> {
  const { act, status } = pass
  const health = await healthOf(pass, pods.filter(needsHealth))
  const ended = pods.map((pod) => ({ pod, end: terminationOf(pod, health.get(pod.metadata.uid)) }))
  const released = ended.filter(({ end }) => end === 'release')
  await Promise.all(
    released.map(async ({ pod }) => {
      if ((await act.release(pod, CHAOS_POD_FINALIZER)) === 'gone') remember(removedIn, pass, pod)
      remember(releasedIn, pass, pod)
    }),
  )
  const stuck = ended.filter(({ end }) => end === 'stuck').map(({ pod }) => pod)
  stuckIn.set(pass, new Set(stuck.map(({ metadata }) => metadata.name)))
  if (statusIn(pass).isStuckOnRemoval === true || stuck.length > 0) status.isStuckOnRemoval = stuck.length > 0
  await Promise.all(stuck.map(async (pod) => await reportStuck(pass, pod, subject)))
  return released.length
}

// Facts that one step of a pass finds and a later step uses.
const stuckIn = new WeakMap<EndingPass, ReadonlySet<string>>()
const releasedIn = new WeakMap<EndingPass, ReadonlySet<string>>()
const removedIn = new WeakMap<EndingPass, ReadonlySet<string>>()

function remember(known: typeof removedIn, pass: EndingPass, { metadata }: ChaosPod): void {
  known.set(pass, new Set([...(known.get(pass) ?? []), metadata.uid]))
}

/** Whether this pass has removed the last finalizer of a pod that was being deleted. */
export function wasRemoved(pass: EndingPass, { metadata }: ChaosPod): boolean {
  return removedIn.get(pass)?.has(metadata.uid) === true
}

/**
 * The chaos pods in the snapshot of this pass, without those that this pass has removed: the removal is our own write,
 * so no event reports it.
 */
export function remainingChaosPods(pass: EndingPass): readonly ChaosPod[] {
  return pass.state.chaosPods.filter((pod) => !wasRemoved(pass, pod))
}

/** Whether this pass has removed our finalizer. */
export function wasReleased(pass: EndingPass, { metadata }: ChaosPod): boolean {
  return releasedIn.get(pass)?.has(metadata.uid) === true
}

/** The names of the chaos pods that this pass has found unable to clean up. */
export function stuckPodsIn(pass: EndingPass): ReadonlySet<string> {
  return stuckIn.get(pass) ?? new Set()
}

/** Emits an Event for each failed chaos pod that is not being deleted, with the reason of the failure. */
async function reportFailures({ act, state }: DisruptionPass): Promise<void> {
  const failed = state.chaosPods.filter(({ phase, isDeleting }) => phase === 'Failed' && !isDeleting)
  await Promise.all(
    failed.map(async ({ metadata, target, does, reason, message: said }) => {
      const { namespace = '', name, uid } = metadata
      const why = reason === '' ? '' : ` (${reason})`
      const message = `chaos pod ${namespace}/${name} failed to inject ${does} into ${target}${why}${said === undefined ? `; see its log: kubectl logs -n ${namespace} ${name}` : `: ${said}`}`
      await act.event({ type: 'Warning', reason: 'ChaosPodWarningState', message, occasion: uid })
    }),
  )
}

/** Emits an Event for each running injector that reports why it has not injected, such as an unsupported kernel. */
async function reportNotInjected({ act, state }: DisruptionPass): Promise<void> {
  const waiting = state.chaosPods.filter(
    ({ phase, isReady, isDeleting, isSimulated, message }) =>
      phase === 'Running' && !isReady && !isDeleting && isSimulated !== true && message !== undefined,
  )
  await Promise.all(
    waiting.map(async ({ metadata: { namespace = '', name, uid }, target, does, message = '' }) => {
      const reason = message.replace(/^not injected: /, '')
      const text = `chaos pod ${namespace}/${name} has not injected ${does} into ${target}: ${reason}`
      await act.event({ type: 'Warning', reason: 'NotInjected', message: text, occasion: uid })
    }),
  )
}

/** Readers of the status `Injected` must learn that nothing is disturbed. */
async function reportSimulated({ act, state }: DisruptionPass): Promise<void> {
  const simulated = state.chaosPods.filter((pod) => pod.isSimulated === true && pod.isReady && !pod.isDeleting)
  await Promise.all(
    simulated.map(async ({ metadata: { namespace = '', name, uid }, target, does, message = '' }) => {
      const text = `chaos pod ${namespace}/${name}: ${does} on ${target} is ${message}`
      await act.event({ type: 'Normal', reason: 'Simulated', message: text, occasion: uid })
    }),
  )
}

async function reportStuck({ act }: EndingPass, pod: ChaosPod, subject: 'disruption' | 'chaosPod'): Promise<void> {
  const { target, does } = pod
  const { namespace = '', name, uid } = pod.metadata
  const message = `chaos pod ${namespace}/${name} (${does} on ${target}) could not clean up${pod.message === undefined ? '' : ` (${pod.message})`}; read its log, undo the remaining changes, then remove its finalizer:  ${removeFinalizerCommand(namespace, name)}`
  await act.event({
    type: 'Warning',
    reason: 'StuckOnRemoval',
    message,
    occasion: uid,
    ...(subject === 'chaosPod' && { about: pod }),
  })
}

/** By UID of the chaos pod; chaos pods with a cleanable target have no entry. */
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
    // A pod with this name on another node is another pod.
    if (target === undefined || isOnPreviousNode(pod, target)) return 'gone'
    // A pod that waited for its disruption (`onInit`) has been disturbed although it does not run yet.
    if (!target.isRunning && target.isStarting !== true) return 'not running'
    // The containers of a deleted node are gone, too, so no injector can clean up.
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

/**
 * Whether a chaos pod can undo its changes at its target: a target that is deleted or does not run has no changes left.
 */
export type TargetHealth = 'cleanable' | 'gone' | 'not running' | 'node not ready'

/**
 * `skip`: the pod is not being deleted or has no finalizer; `release`: remove the finalizer; `stuck`: a user has to
 * clean up; `wait`: the injector is still cleaning up.
 */
export type Termination = 'skip' | 'release' | 'stuck' | 'wait'

type TerminatingPod = Pick<ChaosPod, 'phase' | 'reason' | 'injector' | 'does' | 'isDeleting' | 'isHeld'>

/** @param health only read if `needsHealth`; undefined counts as cleanable. */
export function terminationOf(pod: TerminatingPod, health: TargetHealth | undefined): Termination {
  const early = earlyTermination(pod)
  if (early !== undefined) return early
  if (health !== undefined && health !== 'cleanable') return 'release'
  return pod.phase === 'Failed' ? 'stuck' : 'wait'
}

/** Whether the termination depends on the target's health. */
export function needsHealth(pod: TerminatingPod): boolean {
  return earlyTermination(pod) === undefined
}

function earlyTermination({
  isDeleting,
  isHeld,
  does,
  phase,
  reason,
  injector,
}: TerminatingPod): 'skip' | 'release' | undefined {
  if (!isDeleting || !isHeld) return 'skip'
  if (leavesNothing(does) || phase === 'Succeeded' || phase === 'Pending') return 'release'
  const neverBegan = injector === 'never' || injector === 'waiting' || injector === 'startError'
  if (phase === 'Failed' && (reason === 'DeadlineExceeded' || neverBegan)) return 'release'
  return undefined
}

export const endOrphans = action<EndingPass>('endOrphans', async (pass): Promise<Outcome> => {
  const { act, state } = pass
  await Promise.all(state.chaosPods.map(async (pod) => await reportOrphan(pass, pod)))
  const alive = state.chaosPods.filter(({ isDeleting }) => !isDeleting)
  await Promise.all(alive.map(async (pod) => await act.remove(pod)))
  // O1
  await releaseChaosPods(pass, alive.length === 0 ? state.chaosPods : await pass.refresh('chaosPods'), 'chaosPod')
  return remainingChaosPods(pass).length === 0 ? done : again(RECHECK_MS)
})

async function reportOrphan({ act, target }: EndingPass, pod: ChaosPod): Promise<void> {
  const { namespace, name } = target.metadata
  await act.event({
    type: 'Warning',
    reason: 'Orphaned',
    about: pod,
    message: `Disruption ${namespace}/${name} was removed before the clean-up, so this chaos pod is being deleted`,
  })
}
