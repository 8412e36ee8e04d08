// What the steps over a Disruption work with: what is observed, what is set by the operators, which spec is carried out.
//
//   P1. The spec that is carried out is the one that was there when the Disruption was first looked at (`status.originalSpec`). Only `count` follows the
//       object, and only with dynamic targeting. Source: spec/chaos.md 1.8.
//   P2. Its chaos pods are where the first of them were to be made (`status.chaosNamespace`), whatever is configured since: what was made there is found,
//       ended and waited for.

import type { Gone, LevelPass, StateQuery } from '../../kit/index.ts'
import { chaosHomeOf, configOf, type PassConfig } from '../config.ts'
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
import { type PodWarning, warningView } from './target-warnings.ts'
import { type DisruptionTimes, timesOf } from './times.ts'

export interface DisruptionState extends StopState {
  /** Its own. */
  readonly chaosPods: readonly ChaosPod[]
  /** With its labels, whoever made them; looked at when all of its own are gone. */
  readonly labelledChaosPods: readonly ChaosPod[]
  /** Of all Disruptions, narrowed to targets. */
  readonly allChaosPods: readonly ChaosPod[]
  /** What the selectors select, with dynamic targeting: its changes wake the pass. */
  readonly pods: readonly Target[]
  readonly nodes: readonly Target[]
  /** The same with static targeting, which looks once. */
  readonly candidatePods: readonly Target[]
  readonly candidateNodes: readonly Target[]
  /** With static targeting: nobody reads them, their changes wake the pass (observe-targets.ts). */
  readonly heardPods: readonly Target[]
  readonly heardNodes: readonly Target[]
  /** Warnings about pods of its namespace. */
  readonly podWarnings: readonly PodWarning[]
  /** Those about its targets: nobody reads them, their coming wakes the pass. */
  readonly heardWarnings: readonly PodWarning[]
  /** Narrowed to names: targets that were chosen, whatever labels they have by now. */
  readonly targetPods: readonly Target[]
  readonly targetNodes: readonly Target[]
}

const SELECTED = { many: true, lazy: true, labelsFrom: ['spec.selector', 'spec.advancedSelector'] } as const
const CHOSEN = { many: true, lazy: true, namesFrom: 'status.targets' } as const
const [PODS, NODES] = [{ 'spec.level': ['', 'pod'] }, { 'spec.level': ['node'] }]
const [DYNAMIC, STATIC] = [{ 'spec.staticTargeting': ['', 'false'] }, { 'spec.staticTargeting': ['true'] }]
const NOT_OVER = ['', ...INJECTION_STATUSES.filter((status) => !status.startsWith('Previously'))]
// What the observer tells on targets is no trouble of theirs: read again it would be told for ever.
const WARNINGS_OF_PODS = { type: 'Warning', 'involvedObject.kind': 'Pod', 'source!': EVENT_SOURCE } as const

const WARNINGS = { kind: 'v1/Event', many: true, lazy: true, view: warningView, followed: WARNINGS_OF_PODS } as const
const WARNED = { fields: WARNINGS_OF_PODS, onlyIf: { ...PODS, 'status.injectionStatus': NOT_OVER } }

/** P2. Of one that is gone it is the configured one. */
export const CHAOS_HOME = '${target.status.chaosNamespace ?? settings.injector.chaosNamespace}'
const CHAOS_PODS = { kind: 'v1/Pod', many: true, namespace: CHAOS_HOME, view: chaosPodView } as const

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
  heardPods: { ...CHOSEN, kind: 'v1/Pod', view: podView, onlyIf: { ...PODS, ...STATIC } },
  heardNodes: { ...CHOSEN, kind: 'v1/Node', view: nodeView, onlyIf: { ...NODES, ...STATIC } },
  podWarnings: { ...WARNINGS, ...WARNED, quiet: true },
  heardWarnings: { ...WARNINGS, ...WARNED, fieldsFrom: { 'involvedObject.name': 'status.targets' } },
  targetPods: { kind: 'v1/Pod', many: true, lazy: true, quiet: true, view: podView },
  targetNodes: { kind: 'v1/Node', many: true, lazy: true, quiet: true, view: nodeView },
  ...stopQueries,
}

export { configOf }

export type DisruptionPass = LevelPass<DisruptionState, Disruption>
/** Over one that may be gone. */
export type EndingPass = LevelPass<DisruptionState, Gone<Disruption>>

/** P1 */
export function specOf({ target, status }: Pick<DisruptionPass, 'target' | 'status'>): DisruptionSpec {
  const kept = (status.originalSpec ?? target.status?.originalSpec) as DisruptionSpec | undefined
  if (kept === undefined) return target.spec
  return kept.staticTargeting === true ? kept : { ...kept, count: target.spec.count }
}

export function timesIn(pass: DisruptionPass): DisruptionTimes {
  const { target } = pass
  return timesOf({ spec: specOf(pass), metadata: target.metadata }, configOf(pass).controller.defaultDurationMs)
}

/** P2 */
export function chaosNamespaceIn(pass: Pick<EndingPass, 'target' | 'status' | 'settings'>): string {
  return chaosHomeOf(statusIn(pass), configOf(pass).injector.chaosNamespace)
}

/** What the operators have set, with P2. */
export function configIn(pass: Pick<EndingPass, 'target' | 'status' | 'settings'>): PassConfig {
  const config = configOf(pass)
  return { ...config, injector: { ...config.injector, chaosNamespace: chaosNamespaceIn(pass) } }
}

/** What the status will say when the pass ends here. */
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
