// How much of a Disruption is injected, from what its chaos pods say. Source: seeds/chaos-controller.txt "Injection phase", step 5; spec/chaos.md 2.6.

import type { InjectionStatus, TargetInjectionStatus } from '../contract.ts'
import type { TargetInjections } from './kind.ts'
import type { ChaosPod } from './observed.ts'

export interface StatusInput {
  readonly current: InjectionStatus
  readonly pods: readonly Pick<ChaosPod, 'target' | 'kind' | 'isReady' | 'hasCompleted' | 'isDeleting'>[]
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
  const ready = new Set(pods.filter(({ isReady }) => isReady).map(({ target, kind }) => `${kind} ${target}`))
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
 * @param names of the chaos pods that are to be, by target and kind.
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
    names,
  }: {
    readonly before: TargetInjections
    readonly targets: readonly string[]
    readonly kinds: readonly string[]
    readonly pods: readonly (Pick<ChaosPod, 'target' | 'kind' | 'isReady'> & {
      readonly metadata: { readonly name: string }
    })[]
    readonly stuck: ReadonlySet<string>
    readonly names: (target: string, kind: string) => string | undefined
  },
  at: string,
): TargetInjections {
  const ofTarget = (target: string) =>
    kinds.map((kind) => {
      const known = before[target]?.[kind]
      const pod = pods.find((one) => one.target === target && one.kind === kind)
      const name = pod?.metadata.name ?? names(target, kind) ?? known?.injectorPodName
      const isStuck = pod !== undefined && stuck.has(pod.metadata.name)
      const injectionStatus: TargetInjectionStatus = isStuck
        ? 'IsStuckOnRemoval'
        : pod?.isReady === true
          ? 'Injected'
          : 'NotInjected'
      const since = known?.since ?? (injectionStatus === 'Injected' ? at : undefined)
      return [
        kind,
        {
          injectionStatus,
          ...(name !== undefined && { injectorPodName: name }),
          ...(since !== undefined && { since }),
        },
      ] as const
    })
  return Object.fromEntries([...targets].sort().map((target) => [target, Object.fromEntries(ofTarget(target))]))
}
