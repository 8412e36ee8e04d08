import { type InjectionStatus, kindNamesOf } from '../contract.ts'
import type { TargetInjection, TargetInjections } from './kind.ts'
import { type ChaosPod, injectionKey } from './observed.ts'
import { action, done, later } from '../../kit/index.ts'
import { remainingChaosPods, stuckPodsIn } from './end-chaos-pods.ts'
import { isReplaced } from './moved-targets.ts'
import { type DisruptionPass, injectionStatusIn, specOf, statusIn, timesIn } from './pass.ts'
import { timestampText } from '../timestamp.ts'
import { UNCREATED, uncreatedIn } from './uncreated-pods.ts'

export interface StatusInput {
  readonly current: InjectionStatus
  readonly pods: readonly Pick<ChaosPod, 'target' | 'does' | 'isReady' | 'hasCompleted' | 'isDeleting'>[]
  /** The kinds in the spec. */
  readonly kinds: readonly string[]
  readonly targets: readonly string[]
  readonly desired: number
  /** The Disruption has expired or is being deleted. */
  readonly isOver: boolean
}

/** The next status. A final status (`Previously...`) never changes. */
export function injectionStatusOf(input: StatusInput): InjectionStatus {
  const { current, pods, isOver } = input
  const hasBegun = pods.length > 0 || current !== 'NotInjected'
  if (current.startsWith('Previously')) return current
  if (isOver) return finalStatus(hasBegun && pods.length > 0 ? highestStatus(current, presentStatus(input)) : current)
  if (pods.length === 0) return current === 'NotInjected' ? current : pausedStatus(current)
  if (pods.every(({ hasCompleted }) => hasCompleted)) return pausedStatus(current)
  return presentStatus(input)
}

/** The targets on which every kind is ready. */
export function injectedTargets({
  pods,
  kinds,
  targets,
}: Pick<StatusInput, 'pods' | 'kinds' | 'targets'>): readonly string[] {
  const ready = new Set(pods.filter(({ isReady }) => isReady).map(injectionKey))
  const isReadyOn = (target: string) => kinds.every((kind) => ready.has(injectionKey({ target, does: kind })))
  return targets.filter((target) => kinds.length > 0 && isReadyOn(target))
}

function presentStatus(input: StatusInput): 'NotInjected' | 'PartiallyInjected' | 'Injected' {
  const { pods, desired } = input
  const injected = injectedTargets(input).length
  if (injected > 0 && injected >= desired && pods.every(({ isReady }) => isReady)) return 'Injected'
  return pods.some(({ isReady }) => isReady) ? 'PartiallyInjected' : 'NotInjected'
}

/** The highest status that was reached: chaos pods that are being deleted must not lower it. */
function highestStatus(current: InjectionStatus, present: InjectionStatus): InjectionStatus {
  const rank = (status: InjectionStatus) => {
    if (status === 'NotInjected') return 0
    return status.endsWith('PartiallyInjected') ? 1 : 2
  }
  return rank(present) > rank(current) ? present : current
}

function pausedStatus(current: InjectionStatus): InjectionStatus {
  if (current === 'Injected') return 'PausedInjected'
  return current === 'PartiallyInjected' ? 'PausedPartiallyInjected' : current
}

function finalStatus(current: InjectionStatus): InjectionStatus {
  if (current === 'NotInjected') return 'PreviouslyNotInjected'
  return current.endsWith('PartiallyInjected') ? 'PreviouslyPartiallyInjected' : 'PreviouslyInjected'
}

/**
 * The state of each kind on each target. `since` is the time of the first injection and never changes.
 *
 * @param stuck the names of chaos pods that could not clean up.
 * @param uncreated the reasons why chaos pods could not be created, by `injectionKey`.
 * @param at the current time as a Kubernetes timestamp.
 */
export function targetInjectionsOf(
  {
    before,
    targets,
    kinds,
    pods,
    stuck,
    uncreated = new Map(),
  }: {
    readonly before: TargetInjections
    readonly targets: readonly string[]
    readonly kinds: readonly string[]
    readonly pods: readonly (Pick<ChaosPod, 'target' | 'does' | 'isReady' | 'message' | 'isSimulated'> & {
      readonly metadata: { readonly name: string }
    })[]
    readonly stuck: ReadonlySet<string>
    readonly uncreated?: ReadonlyMap<string, string>
  },
  at: string,
): TargetInjections {
  const ofKind = (target: string, kind: string) => {
    const pod = pods.find((one) => one.target === target && one.does === kind)
    const isStuck = pod !== undefined && stuck.has(pod.metadata.name)
    const problem = pod === undefined ? uncreated.get(injectionKey({ target, does: kind })) : undefined
    return {
      ...injectionOf(before[target]?.[kind], pod, { isStuck, at }),
      ...(problem !== undefined && { message: `${UNCREATED}${problem}` }),
    }
  }
  const ofTarget = (target: string) => kinds.map((kind) => [kind, ofKind(target, kind)] as const)
  return Object.fromEntries([...targets].sort().map((target) => [target, Object.fromEntries(ofTarget(target))]))
}

function injectionOf(
  known: TargetInjection | undefined,
  pod:
    | (Pick<ChaosPod, 'isReady' | 'message' | 'isSimulated'> & { readonly metadata: { readonly name: string } })
    | undefined,
  { isStuck, at }: { readonly isStuck: boolean; readonly at: string },
): TargetInjection {
  const isReady = pod?.isReady === true
  const statusOfPod = isReady ? 'Injected' : 'NotInjected'
  const injectionStatus = isStuck ? 'IsStuckOnRemoval' : statusOfPod
  const name = pod?.metadata.name ?? known?.injectorPodName
  const since = known?.since ?? (injectionStatus === 'Injected' ? at : undefined)
  return {
    injectionStatus,
    ...(name !== undefined && { injectorPodName: name }),
    ...(since !== undefined && { since }),
    ...injectionMessageFields(pod),
  }
}

/** A target that is really injected needs no message. */
function injectionMessageFields(
  pod: Pick<ChaosPod, 'isReady' | 'message' | 'isSimulated'> | undefined,
): Pick<TargetInjection, 'simulated' | 'message'> {
  if (pod === undefined || (pod.isReady && pod.isSimulated !== true)) return {}
  return {
    ...(pod.isSimulated === true && { simulated: true }),
    ...(pod.message !== undefined && { message: pod.message }),
  }
}

/** The number of targets that are simulated now. */
export function simulatedCount(injections: TargetInjections): number {
  const isSimulated = (kinds: TargetInjections[string]) =>
    Object.values(kinds).some(({ simulated, injectionStatus }) => simulated === true && injectionStatus === 'Injected')
  return Object.values(injections).filter(isSimulated).length
}

/**
 * One sentence about the first target that is not injected, or else about the simulated targets; undefined if there are
 * neither.
 */
export function messageOf(injections: TargetInjections): string | undefined {
  const all = Object.entries(injections).flatMap(([target, kinds]) =>
    Object.entries(kinds).map(([kind, injection]) => ({ target, kind, ...injection })),
  )
  const failed = all.filter(
    ({ injectionStatus, simulated, message }) =>
      injectionStatus !== 'Injected' && simulated !== true && message !== undefined,
  )
  const [first] = failed
  const more = failed.length > 1 ? ` (and ${failed.length - 1} more)` : ''
  if (first !== undefined) return `${first.kind} on ${first.target}: ${first.message ?? ''}${more}`
  const count = simulatedCount(injections)
  if (count === 0) return undefined
  const total = Object.keys(injections).length
  return count === total
    ? 'simulated, because no target has a process; nothing is disturbed'
    : `simulated on ${count} of ${total} targets, because they have no process; nothing is disturbed there`
}

export const reportInjection = action<DisruptionPass>('tellInjection', (pass) => {
  const isOver = updateInjectionStatus(pass)
  return isOver ? done : later(timesIn(pass).end - pass.latest.getTime())
})

/**
 * Writes the injection status into the status draft. @returns whether the Disruption has expired or is being deleted.
 */
export function updateInjectionStatus(pass: DisruptionPass): boolean {
  const { status, target, now, latest } = pass
  const isOver = target.metadata.deletionTimestamp !== undefined || latest.getTime() >= timesIn(pass).end
  const draft = statusIn(pass)
  const kinds = kindNamesOf(specOf(pass))
  const { targets = [], ignoredTargets = [], desiredTargetsCount = 0, targetInjections = {} } = draft
  const pods = remainingChaosPods(pass).filter((pod) => !isReplaced(pass, pod))
  // A lost target does not change the status of the others.
  const about = {
    kinds,
    pods: pods.filter(({ target: name }) => !ignoredTargets.includes(name)),
    targets: targets.filter((name) => !ignoredTargets.includes(name)),
  }
  const current = injectionStatusIn(pass)
  status.injectionStatus = injectionStatusOf({ ...about, current, desired: desiredTargetsCount, isOver })
  status.injectedTargetsCount = injectedTargets(about).length
  if (targets.length > 0 || Object.keys(targetInjections).length > 0) {
    const injections = targetInjectionsOf(
      { kinds, pods, targets, before: targetInjections, stuck: stuckPodsIn(pass), uncreated: uncreatedIn(pass) },
      timestampText(now.getTime()),
    )
    status.targetInjections = injections
    const [message, simulated] = [messageOf(injections), simulatedCount(injections)]
    if (message !== draft.message) status.message = message ?? null
    if (simulated !== (draft.simulatedTargetsCount ?? 0)) status.simulatedTargetsCount = simulated
  }
  return isOver
}
