// How much of a Disruption is injected, from what its chaos pods say. Source: seeds/chaos-controller.txt "Injection phase", step 5; spec/chaos.md 2.6.

import type { InjectionStatus } from '../contract.ts'
import type { TargetInjection, TargetInjections } from './kind.ts'
import type { ChaosPod } from './observed.ts'

export interface StatusInput {
  readonly current: InjectionStatus
  readonly pods: readonly Pick<ChaosPod, 'target' | 'does' | 'isReady' | 'hasCompleted' | 'isDeleting'>[]
  /** The kinds that are asked for. */
  readonly kinds: readonly string[]
  readonly targets: readonly string[]
  readonly desired: number
  /** It has expired, or is being deleted. */
  readonly isOver: boolean
}

/** The next status. The end (`Previously...`) never changes. */
export function injectionStatusOf(input: StatusInput): InjectionStatus {
  const { current, pods, isOver } = input
  const hasBegun = pods.length > 0 || current !== 'NotInjected'
  if (current.startsWith('Previously')) return current
  if (isOver) return over(hasBegun && pods.length > 0 ? merged(current, presentStatus(input)) : current)
  if (pods.length === 0) return current === 'NotInjected' ? current : paused(current)
  if (pods.every(({ hasCompleted }) => hasCompleted)) return paused(current)
  return presentStatus(input)
}

/** The targets of which every kind is ready. */
export function injectedTargets({
  pods,
  kinds,
  targets,
}: Pick<StatusInput, 'pods' | 'kinds' | 'targets'>): readonly string[] {
  const ready = new Set(pods.filter(({ isReady }) => isReady).map(({ target, does }) => `${does} ${target}`))
  return targets.filter((target) => kinds.length > 0 && kinds.every((kind) => ready.has(`${kind} ${target}`)))
}

function presentStatus(input: StatusInput): 'NotInjected' | 'PartiallyInjected' | 'Injected' {
  const { pods, desired } = input
  const injected = injectedTargets(input).length
  if (injected > 0 && injected >= desired && pods.every(({ isReady }) => isReady)) return 'Injected'
  return pods.some(({ isReady }) => isReady) ? 'PartiallyInjected' : 'NotInjected'
}

/** What it was at its fullest: chaos pods that are going say less than it was. */
function merged(current: InjectionStatus, present: InjectionStatus): InjectionStatus {
  const rank = (status: InjectionStatus) =>
    status === 'NotInjected' ? 0 : status.endsWith('PartiallyInjected') ? 1 : 2
  return rank(present) > rank(current) ? present : current
}

function paused(current: InjectionStatus): InjectionStatus {
  if (current === 'Injected') return 'PausedInjected'
  return current === 'PartiallyInjected' ? 'PausedPartiallyInjected' : current
}

function over(current: InjectionStatus): InjectionStatus {
  if (current === 'NotInjected') return 'PreviouslyNotInjected'
  return current.endsWith('PartiallyInjected') ? 'PreviouslyPartiallyInjected' : 'PreviouslyInjected'
}

/**
 * What became of each kind on each target. `since` is the first injection, and stays.
 *
 * @param stuck the chaos pods that could not clean, by name.
 * @param at now, as Kubernetes writes times.
 */
export function targetInjectionsOf(
  {
    before,
    targets,
    kinds,
    pods,
    stuck,
  }: {
    readonly before: TargetInjections
    readonly targets: readonly string[]
    readonly kinds: readonly string[]
    readonly pods: readonly (Pick<ChaosPod, 'target' | 'does' | 'isReady' | 'message' | 'isSimulated'> & {
      readonly metadata: { readonly name: string }
    })[]
    readonly stuck: ReadonlySet<string>
  },
  at: string,
): TargetInjections {
  const ofKind = (target: string, kind: string) => {
    const pod = pods.find((one) => one.target === target && one.does === kind)
    const isStuck = pod !== undefined && stuck.has(pod.metadata.name)
    return injectionOf(before[target]?.[kind], pod, { isStuck, at })
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
  const injectionStatus = isStuck ? 'IsStuckOnRemoval' : isReady ? 'Injected' : 'NotInjected'
  const name = pod?.metadata.name ?? known?.injectorPodName
  const since = known?.since ?? (injectionStatus === 'Injected' ? at : undefined)
  return {
    injectionStatus,
    ...(name !== undefined && { injectorPodName: name }),
    ...(since !== undefined && { since }),
    ...saidOf(pod),
  }
}

/** A target that is injected for real needs no message. */
function saidOf(
  pod: Pick<ChaosPod, 'isReady' | 'message' | 'isSimulated'> | undefined,
): Pick<TargetInjection, 'simulated' | 'message'> {
  if (pod === undefined || (pod.isReady && pod.isSimulated !== true)) return {}
  return {
    ...(pod.isSimulated === true && { simulated: true }),
    ...(pod.message !== undefined && { message: pod.message }),
  }
}

/** How many targets are only simulated. */
export function simulatedCount(injections: TargetInjections): number {
  const isSimulated = (kinds: TargetInjections[string]) =>
    Object.values(kinds).some(({ simulated }) => simulated === true)
  return Object.values(injections).filter(isSimulated).length
}

/** In one sentence, of the first target that is not injected, or else of those that are simulated; undefined: nothing is to be said. */
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
  return `simulated: nothing is disturbed on ${count} of ${Object.keys(injections).length} targets, because they have no process`
}
