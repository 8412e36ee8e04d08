// Names of the group that users, chaos pods and the injector rely on. Wire format: spec/chaos.md 1.1, 1.7, 2.4, 2.5, 2.10, 2.12, 2.13.

export const GROUP = 'chaos.datadoghq.com'
export const VERSION = 'v1beta1'
export const DISRUPTION_KIND = 'Disruption'
export const DISRUPTION_CRON_KIND = 'DisruptionCron'
/** Who tells the Events of Disruptions. Source: spec/chaos.md 1.9. */
export const EVENT_SOURCE = 'disruption-controller'

/** The finalizer of Disruption, DisruptionCron and DisruptionRollout. */
export const FINALIZER = 'finalizer.chaos.datadoghq.com'
/** The finalizer of chaos pods, which the controller or the injector takes off. */
export const CHAOS_POD_FINALIZER = 'finalizer.chaos.datadoghq.com/chaos-pod'

/** On a chaos pod: the name of the pod or node that it disturbs. */
export const TARGET_LABEL = `${GROUP}/target`
/** On a chaos pod: what it does, of `INJECTOR_KINDS`. */
export const DISRUPTION_KIND_LABEL = `${GROUP}/disruption-kind`
/** On a chaos pod: name and namespace of its Disruption, which stand for an owner reference across namespaces. */
export const DISRUPTION_NAME_LABEL = `${GROUP}/disruption-name`
export const DISRUPTION_NAMESPACE_LABEL = `${GROUP}/disruption-namespace`

/** On a pod, by its author: it may be disturbed before its containers start. */
export const DISRUPT_ON_INIT_LABEL = `${GROUP}/disrupt-on-init`
/** On such a pod: how long its init container waits, a Go duration. */
export const DISRUPT_ON_INIT_TIMEOUT_ANNOTATION = `${GROUP}/disrupt-on-init-timeout`
/** On such a pod: its presence lets the containers start when nobody has disturbed it in that time. */
export const DISRUPT_ON_INIT_SUCCEED_ON_TIMEOUT_ANNOTATION = `${GROUP}/disrupt-on-init-succeed-on-timeout`
/** The init container that waits. */
export const HANDLER_CONTAINER = 'chaos-handler'
/** The container of a chaos pod. */
export const INJECTOR_CONTAINER = 'injector'
/**
 * A condition in the status of a chaos pod that only a node agent sets, never a kubelet: the message of its injector. `True` with the reason `Simulated`: the
 * target has no process, so nothing is disturbed. `False`: it has not injected.
 */
export const INJECTOR_CONDITION = 'pawl.dev/injector'
export const SIMULATED_REASON = 'Simulated'
/** In a chaos pod: there when what it does has been done. Source: seeds/chaos-controller.txt, injection phase, step 5. */
export const READINESS_FILE = '/tmp/readiness_probe'

/** On a Disruption: the environment that its author means. */
export const ENVIRONMENT_ANNOTATION = `${GROUP}/environment`
/** On a Disruption, as JSON: who made it. It does not change. */
export const USER_INFO_ANNOTATION = 'UserInfo'
/**
 * On a namespace: nothing is disturbed on behalf of it, what is there ends, and nothing new begins, until it is taken off; on the namespace of chaos pods: the
 * same for the whole cluster. Its value says why.
 */
export const EMERGENCY_STOP_ANNOTATION = `${GROUP}/emergency-stop`

/** On the namespace of chaos pods, `true`: so commands of people find it, who do not have the configuration. */
export const CHAOS_NAMESPACE_LABEL = 'pawl.dev/chaos-namespace'

/** On the Disruption of a cron or rollout: who made that. */
export const USER_ANNOTATION = `${GROUP}/user`
export const USER_GROUPS_ANNOTATION = `${GROUP}/user-groups`

/** On the Disruption of a cron or rollout: the name of that, and for which time it was made (RFC 3339). */
export const DISRUPTION_CRON_NAME_LABEL = `${GROUP}/disruption-cron-name`
export const DISRUPTION_ROLLOUT_NAME_LABEL = `${GROUP}/disruption-rollout-name`
export const SCHEDULED_AT_ANNOTATION = `${GROUP}/scheduled-at`

/** One of the things that a Disruption may do: what its chaos pods are labelled with, which field asks for it. */
interface InjectorKind {
  /** The subcommand of the injector, and the value of `DISRUPTION_KIND_LABEL`. */
  readonly name: string
  /** The field of the spec. */
  readonly field: string
  /** It is done once and leaves nothing to clean. Source: spec/chaos.md 2.7 (2). */
  readonly leavesNothing?: true
}

/** In the order in which chaos pods are made. Source: spec/chaos.md 2.4. */
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

/** The fields of the kinds of which a spec asks, in their order. */
export function kindFieldsOf(
  spec: Readonly<Partial<Record<InjectorKindField, unknown>>>,
): readonly InjectorKindField[] {
  return INJECTOR_KINDS.flatMap(({ field }) => (isGiven(spec[field]) ? [field] : []))
}

/** The names of the kinds of which a spec asks, in their order. */
export function kindNamesOf(spec: Readonly<Partial<Record<InjectorKindField, unknown>>>): readonly InjectorKindName[] {
  return INJECTOR_KINDS.flatMap(({ field, name }) => (isGiven(spec[field]) ? [name] : []))
}

/** Whether nothing is left to clean after a chaos pod of this kind. */
export function leavesNothing(kind: string): boolean {
  return INJECTOR_KINDS.some((one) => one.name === kind && 'leavesNothing' in one)
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** `status.injectionStatus`. The first three are those of the seed; `Paused…`: the chaos pods have ended early; `Previously…`: the end. */
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
