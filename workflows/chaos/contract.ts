// Names of the group that users, chaos pods and the injector rely on. Wire format: spec/chaos.md 1.1, 1.7, 2.4, 2.5, 2.10, 2.12, 2.13.

import { writeJson, type ObservedObject } from '../kit/index.ts'

export const GROUP = 'chaos.datadoghq.com'
export const VERSION = 'v1beta1'
export const DISRUPTION_KIND = 'Disruption'
export const DISRUPTION_CRON_KIND = 'DisruptionCron'
/** The source of Disruption Events. Source: spec/chaos.md 1.9. */
export const EVENT_SOURCE = 'disruption-controller'

/** The finalizer of Disruption, DisruptionCron and DisruptionRollout. */
export const FINALIZER = 'finalizer.chaos.datadoghq.com'
/** The finalizer of chaos pods, which the controller or the injector removes. */
export const CHAOS_POD_FINALIZER = 'finalizer.chaos.datadoghq.com/chaos-pod'

/** On a chaos pod: the name of the target pod or node. */
export const TARGET_LABEL = `${GROUP}/target`
/** On a chaos pod: its kind, one of `INJECTOR_KINDS`. */
export const DISRUPTION_KIND_LABEL = `${GROUP}/disruption-kind`
/** On a chaos pod: name and namespace of its Disruption; owner references cannot cross namespaces. */
export const DISRUPTION_NAME_LABEL = `${GROUP}/disruption-name`
export const DISRUPTION_NAMESPACE_LABEL = `${GROUP}/disruption-namespace`

/** On a pod, set by its author: the pod may be disturbed before its containers start. */
export const DISRUPT_ON_INIT_LABEL = `${GROUP}/disrupt-on-init`
/** On such a pod: how long its init container waits, as a Go duration. */
export const DISRUPT_ON_INIT_TIMEOUT_ANNOTATION = `${GROUP}/disrupt-on-init-timeout`
/** On such a pod: if present, the containers start after this time even without a disruption. */
export const DISRUPT_ON_INIT_SUCCEED_ON_TIMEOUT_ANNOTATION = `${GROUP}/disrupt-on-init-succeed-on-timeout`
/** The waiting init container. */
export const HANDLER_CONTAINER = 'chaos-handler'
/** The container of a chaos pod. */
export const INJECTOR_CONTAINER = 'injector'
/**
 * A condition of a chaos pod with the message of its injector. Only node agents set it, kubelets do not. `True` always
 * has the reason `Simulated`: the target has no process, so nothing is disturbed. `False`: not injected.
 */
export const INJECTOR_CONDITION = 'pawl.dev/injector'
export const SIMULATED_REASON = 'Simulated'
/**
 * In a chaos pod: exists when the injection is complete. Source: seeds/chaos-controller.txt, injection phase, step 5.
 */
export const READINESS_FILE = '/tmp/readiness_probe'

/** On a Disruption: its environment. If the configuration has an environment, a Disruption for another one is rejected. */
export const ENVIRONMENT_ANNOTATION = `${GROUP}/environment`
/** On a Disruption, as JSON: the user who created it. It never changes. */
export const USER_INFO_ANNOTATION = 'UserInfo'
/**
 * On a namespace: the Disruptions of the namespace are deleted and new ones are rejected, until the annotation is
 * removed. On the chaos namespace: the same for the whole cluster. The value is the reason.
 */
export const EMERGENCY_STOP_ANNOTATION = `${GROUP}/emergency-stop`

/** On the chaos namespace, with the value `true`: lets user commands find it without the configuration. */
export const CHAOS_NAMESPACE_LABEL = 'pawl.dev/chaos-namespace'

/** On the Disruption of a cron or rollout: the creator of the cron or rollout. */
export const USER_ANNOTATION = `${GROUP}/user`
export const USER_GROUPS_ANNOTATION = `${GROUP}/user-groups`

/** On the Disruption of a cron or rollout: the parent's name and the scheduled time (RFC 3339). */
export const DISRUPTION_CRON_NAME_LABEL = `${GROUP}/disruption-cron-name`
export const DISRUPTION_ROLLOUT_NAME_LABEL = `${GROUP}/disruption-rollout-name`
export const SCHEDULED_AT_ANNOTATION = `${GROUP}/scheduled-at`

/** A kind of disruption: the label value of its chaos pods and the field of the spec that requests it. */
interface InjectorKind {
  /** The subcommand of the injector, and the value of `DISRUPTION_KIND_LABEL`. */
  readonly name: string
  /** The field of the spec. */
  readonly field: string
  /** The kind acts once and leaves nothing to clean up. Source: spec/chaos.md 2.7 (2). */
  readonly leavesNothing?: true
}

/** In the order in which chaos pods are created. Source: spec/chaos.md 2.4. */
export const INJECTOR_KINDS = [
  { name: 'network-disruption', field: 'network' },
  { name: 'node-failure', field: 'nodeFailure', leavesNothing: true },
  { name: 'container-failure', field: 'containerFailure', leavesNothing: true },
  { name: 'cpu-pressure', field: 'cpuPressure' },
  { name: 'memory-pressure', field: 'memoryPressure' },
  { name: 'disk-pressure', field: 'diskPressure' },
  { name: 'disk-failure', field: 'diskFailure' },
  { name: 'grpc-disruption', field: 'grpc' },
  { name: 'dns-disruption', field: 'dns' },
  { name: 'pod-replacement', field: 'podReplacement', leavesNothing: true },
] as const satisfies readonly InjectorKind[]

export type InjectorKindName = (typeof INJECTOR_KINDS)[number]['name']
export type InjectorKindField = (typeof INJECTOR_KINDS)[number]['field']

/** The fields of the kinds in a spec, in the order of `INJECTOR_KINDS`. */
export function kindFieldsOf(
  spec: Readonly<Partial<Record<InjectorKindField, unknown>>>,
): readonly InjectorKindField[] {
  return INJECTOR_KINDS.flatMap(({ field }) => (isGiven(spec[field]) ? [field] : []))
}

/** The names of the kinds in a spec, in the order of `INJECTOR_KINDS`. */
export function kindNamesOf(spec: Readonly<Partial<Record<InjectorKindField, unknown>>>): readonly InjectorKindName[] {
  return INJECTOR_KINDS.flatMap(({ field, name }) => (isGiven(spec[field]) ? [name] : []))
}

/** Whether chaos pods of this kind need no clean-up. */
export function leavesNothing(kind: string): boolean {
  return INJECTOR_KINDS.some((injectorKind) => injectorKind.name === kind && 'leavesNothing' in injectorKind)
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

/**
 * `status.injectionStatus`. `Paused…`: the chaos pods have ended before the Disruption; `Previously…`: the Disruption has
 * ended.
 */
export const INJECTION_STATUSES = [
  'NotInjected',
  'PartiallyInjected',
  'Injected',
  'PausedPartiallyInjected',
  'PausedInjected',
  'PreviouslyNotInjected',
  'PreviouslyPartiallyInjected',
  'PreviouslyInjected',
] as const

export type InjectionStatus = (typeof INJECTION_STATUSES)[number]

/** `injectionStatus` of one kind on one target. */
export const TARGET_INJECTION_STATUSES = ['NotInjected', 'Injected', 'IsStuckOnRemoval'] as const

export type TargetInjectionStatus = (typeof TARGET_INJECTION_STATUSES)[number]

/** The command with which a user releases a stuck chaos pod after a manual clean-up. */
export function removeFinalizerCommand(namespace: string, pod: string): string {
  return `kubectl -n ${namespace} patch pod ${pod} --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'`
}

/** The key of the annotation with the manifest, by the object's kind. Source: chaos-controller, api/v1beta1. */
const MANIFEST_ANNOTATIONS = { [DISRUPTION_KIND]: 'disruption', [DISRUPTION_CRON_KIND]: 'disruption_cron' } as const

/** The annotations of an Event about the object: a manifest with only its identity and spec. */
export function manifestAnnotations(
  kind: keyof typeof MANIFEST_ANNOTATIONS,
  { metadata: { name, namespace, uid } }: ObservedObject,
  spec: object,
): Readonly<Record<string, string>> {
  const manifest = { apiVersion: `${GROUP}/${VERSION}`, kind, metadata: { name, namespace, uid }, spec }
  return { [MANIFEST_ANNOTATIONS[kind]]: writeJson(manifest) }
}
