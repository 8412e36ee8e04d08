// Declares the objects that a pass over a Disruption observes, and derives the effective spec, times and configuration
// from them.
//
// P1. The pass carries out the spec of the first pass (`status.originalSpec`). Only `count` follows later edits, and
//   only with dynamic targeting. Source: spec/chaos.md 1.8.
// P2. The chaos pods of a Disruption stay in the namespace in which its first pass created them
//   (`status.chaosNamespace`), even if the operators configure another namespace later. The controller finds, ends and
//   awaits them there.

import type { Gone, LevelPass, StateQuery } from '../../kit/index.ts'
import { recordedChaosNamespaceOf, configOf, type PassConfig } from '../config.ts'
import {
  DISRUPTION_NAME_LABEL,
  DISRUPTION_NAMESPACE_LABEL,
  EVENT_SOURCE,
  INJECTION_STATUSES,
  type InjectionStatus,
} from '../contract.ts'
import { stopQueries, type StopState } from '../emergency-stop.ts'
import type { Disruption, DisruptionSpec, DisruptionStatus } from './kind.ts'
import { type ChaosPod, chaosPodView, nodeView, podView, type Target } from './observed.ts'
import { type PodWarning, warningView } from './trouble.ts'
import { type DisruptionTimes, timesOf } from './times.ts'

export interface DisruptionState extends StopState {
  /** The chaos pods of this Disruption. */
  readonly chaosPods: readonly ChaosPod[]
  /** Pods with the labels of this Disruption, from any creator; read when all own chaos pods are deleted. */
  readonly labelledChaosPods: readonly ChaosPod[]
  /** The chaos pods of all Disruptions on the listed targets. */
  readonly allChaosPods: readonly ChaosPod[]
  /** Dynamic targeting: the pods that the selectors match. Their changes wake the pass. */
  readonly pods: readonly Target[]
  readonly nodes: readonly Target[]
  /** Static targeting: the pods that the selectors match, read once. */
  readonly candidatePods: readonly Target[]
  readonly candidateNodes: readonly Target[]
  /**
   * Static targeting: never read; changes of these pods wake the pass (observe-targets.ts). Activity inputs contain the
   * names of these queries, so they keep the spelling `heard`.
   */
  readonly heardPods: readonly Target[]
  readonly heardNodes: readonly Target[]
  /** Warning Events about pods of the namespace. */
  readonly podWarnings: readonly PodWarning[]
  /** Never read: new Warning Events about the targets wake the pass. */
  readonly heardWarnings: readonly PodWarning[]
  /** The chosen targets by name, whatever their labels are. */
  readonly targetPods: readonly Target[]
  readonly targetNodes: readonly Target[]
}

const SELECTED = { many: true, lazy: true, labelsFrom: ['spec.selector', 'spec.advancedSelector'] } as const
const TARGETS_BY_NAME = { many: true, lazy: true, namesFrom: 'status.targets' } as const
const [PODS, NODES] = [{ 'spec.level': ['', 'pod'] }, { 'spec.level': ['node'] }]
const [DYNAMIC, STATIC] = [{ 'spec.staticTargeting': ['', 'false'] }, { 'spec.staticTargeting': ['true'] }]
const UNFINISHED_STATUSES = ['', ...INJECTION_STATUSES.filter((status) => !status.startsWith('Previously'))]
// Leaves out the Events that the observer itself emits on targets: reading them again would repeat them forever.
const WARNINGS_OF_PODS = { type: 'Warning', 'involvedObject.kind': 'Pod', 'source!': EVENT_SOURCE } as const

const WARNINGS = { kind: 'v1/Event', many: true, lazy: true, view: warningView, followed: WARNINGS_OF_PODS } as const
const WARNING_FIELDS = { fields: WARNINGS_OF_PODS, onlyIf: { ...PODS, 'status.injectionStatus': UNFINISHED_STATUSES } }

/** P2. For a deleted Disruption, the configured namespace. */
export const CHAOS_NAMESPACE_EXPRESSION = '${target.status.chaosNamespace ?? settings.injector.chaosNamespace}'
const CHAOS_PODS = { kind: 'v1/Pod', many: true, namespace: CHAOS_NAMESPACE_EXPRESSION, view: chaosPodView } as const

export const disruptionQueries: Readonly<Record<keyof DisruptionState, StateQuery>> = {
  chaosPods: { ...CHAOS_PODS, owned: 'label' },
  labelledChaosPods: {
    ...CHAOS_PODS,
    lazy: true,
    quiet: true,
    labels: {
      [DISRUPTION_NAME_LABEL]: '${target.metadata.name}',
      [DISRUPTION_NAMESPACE_LABEL]: '${target.metadata.namespace}',
    },
  },
  allChaosPods: { ...CHAOS_PODS, lazy: true, quiet: true },
  pods: { ...SELECTED, kind: 'v1/Pod', view: podView, onlyIf: { ...PODS, ...DYNAMIC } },
  nodes: { ...SELECTED, kind: 'v1/Node', view: nodeView, onlyIf: { ...NODES, ...DYNAMIC } },
  candidatePods: { ...SELECTED, quiet: true, kind: 'v1/Pod', view: podView, onlyIf: { ...PODS, ...STATIC } },
  candidateNodes: { ...SELECTED, quiet: true, kind: 'v1/Node', view: nodeView, onlyIf: { ...NODES, ...STATIC } },
  heardPods: { ...TARGETS_BY_NAME, kind: 'v1/Pod', view: podView, onlyIf: { ...PODS, ...STATIC } },
  heardNodes: { ...TARGETS_BY_NAME, kind: 'v1/Node', view: nodeView, onlyIf: { ...NODES, ...STATIC } },
  podWarnings: { ...WARNINGS, ...WARNING_FIELDS, quiet: true },
  heardWarnings: { ...WARNINGS, ...WARNING_FIELDS, fieldsFrom: { 'involvedObject.name': 'status.targets' } },
  targetPods: { kind: 'v1/Pod', many: true, lazy: true, quiet: true, view: podView },
  targetNodes: { kind: 'v1/Node', many: true, lazy: true, quiet: true, view: nodeView },
  ...stopQueries,
}

export { configOf }

export type DisruptionPass = LevelPass<DisruptionState, Disruption>
/** The pass over a Disruption that may be deleted already. */
export type EndingPass = LevelPass<DisruptionState, Gone<Disruption>>

/** P1 */
export function specOf({ target, status }: Pick<DisruptionPass, 'target' | 'status'>): DisruptionSpec {
  const original = (status.originalSpec ?? target.status?.originalSpec) as DisruptionSpec | undefined
  if (original === undefined) return target.spec
  return original.staticTargeting === true ? original : { ...original, count: target.spec.count }
}

export function timesIn(pass: DisruptionPass): DisruptionTimes {
  const { target } = pass
  return timesOf({ spec: specOf(pass), metadata: target.metadata }, configOf(pass).controller.defaultDurationMs)
}

/** P2 */
export function chaosNamespaceIn(pass: Pick<EndingPass, 'target' | 'status' | 'settings'>): string {
  return recordedChaosNamespaceOf(statusIn(pass), configOf(pass).injector.chaosNamespace)
}

/** The operators' configuration with the chaos namespace of P2. */
export function configIn(pass: Pick<EndingPass, 'target' | 'status' | 'settings'>): PassConfig {
  const config = configOf(pass)
  return { ...config, injector: { ...config.injector, chaosNamespace: chaosNamespaceIn(pass) } }
}

/** The status as this pass would write it at this point. */
export function statusIn({ target, status }: Pick<EndingPass, 'target' | 'status'>): DisruptionStatus {
  const all: Readonly<Record<string, unknown>> = { ...target.status, ...status }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null))
}

export function injectionStatusIn(pass: Pick<DisruptionPass, 'target' | 'status'>): InjectionStatus {
  return statusIn(pass).injectionStatus ?? 'NotInjected'
}

export function isOfNodes(spec: Pick<DisruptionSpec, 'level'>): boolean {
  return spec.level === 'node'
}
