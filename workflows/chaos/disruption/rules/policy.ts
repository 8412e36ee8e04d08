// Admission rules that depend on the operators' configuration, the time, the user, or the previous object. Pure: the
// caller passes all of them. The create checks are in the order of spec/chaos.md 2.10. Emergency stop: docs/guides/run-a-disruption.md.

import { type Problem, problemText } from '../../../kit/index.ts'
import { ENVIRONMENT_ANNOTATION, INJECTOR_KINDS, FINALIZER, EMERGENCY_STOP_ANNOTATION } from '../../contract.ts'
import { durationMs, goDurationOfMs } from '../../go-duration.ts'
import { fieldsOf, has, type JsonFields, hasValue, formatValue, textOf, listOf } from '../../json-fields.ts'
import { forbiddenNodeProblems, shapeProblems } from './safety-nets.ts'
import { isLabelValue } from './targeting.ts'
import { pastTriggerProblems } from './timing.ts'
import { changedFields } from '../spec-hash.ts'
import type { NamespaceView } from '../../emergency-stop.ts'

/** The part of the configuration that the create checks use. */
export interface AdmissionPolicy {
  readonly controller: {
    readonly deleteOnly: boolean
    readonly defaultDurationMs: number
    /** Undefined: unlimited. */
    readonly maxDurationMs?: number | undefined
    /** Names of kinds, such as `cpu-pressure`. */
    readonly disabledDisruptions: readonly string[]
    readonly safeMode: {
      readonly enable: boolean
      readonly allowNodeFailure: boolean
      readonly allowNodeLevel: boolean
      /** The environment of this cluster, from the chaos configuration; empty: environments are not compared. */
      readonly environment: string
      /** Empty: all users. */
      readonly permittedUserGroups: readonly string[]
    }
  }
  readonly handler: { readonly enabled: boolean }
}

export interface PolicyRequest {
  readonly object: unknown
  readonly groups: readonly string[]
  readonly nowMs: number
}

export function policyProblems(policy: AdmissionPolicy, { object, groups, nowMs }: PolicyRequest): readonly Problem[] {
  const { controller, handler } = policy
  const { metadata, spec: given } = fieldsOf(object)
  const spec = fieldsOf(given)
  return [
    ...(controller.deleteOnly
      ? [{ field: '', found: 'a new Disruption', expected: 'only deletions, because controller.deleteOnly is true' }]
      : []),
    ...userGroupProblems(controller.safeMode.permittedUserGroups, groups),
    ...nameProblems(fieldsOf(metadata)),
    ...environmentProblems(controller.safeMode.environment, fieldsOf(metadata)),
    ...specPolicyProblems({ controller, handler }, spec, nowMs),
  ]
}

function specPolicyProblems(
  { controller, handler }: AdmissionPolicy,
  spec: JsonFields,
  nowMs: number,
): readonly Problem[] {
  return [
    ...(spec['onInit'] === true && !handler.enabled
      ? [{ field: 'spec.onInit', found: 'true', expected: 'false, because handler.enabled is false' }]
      : []),
    ...pastTriggerProblems(spec, 'spec', nowMs),
    ...maxDurationProblems(spec, controller),
    ...disabledProblems(spec, controller.disabledDisruptions),
    ...forbiddenNodeProblems(spec, controller.safeMode),
  ]
}

/**
 * Warnings for a cron or rollout: the webhook will reject each Disruption of its template. They are no errors, because
 * spec/chaos.md 2.12 "Validation" has no safety nets, and operators may change the configuration.
 */
export function templateWarnings(
  policy: AdmissionPolicy,
  { object, nowMs }: Pick<PolicyRequest, 'object' | 'nowMs'>,
): readonly string[] {
  const template = fieldsOf(fieldsOf(fieldsOf(object)['spec'])['disruptionTemplate'])
  const problems = [
    ...specPolicyProblems(policy, template, nowMs),
    ...shapeProblems(template, policy.controller.safeMode),
  ]
  return problems.map(({ field, ...problem }) => {
    const path = field.replace(/^spec/, 'spec.disruptionTemplate')
    return `${problemText({ field: path, ...problem })}; the webhook will reject each Disruption of this template`
  })
}

/** Checks the groups of the creating user. @param permitted empty: all users. */
export function userGroupProblems(permitted: readonly string[], groups: readonly string[]): readonly Problem[] {
  if (permitted.length === 0 || groups.some((group) => permitted.includes(group))) return []
  const found = `a user ${groups.length === 0 ? 'without groups' : `of the groups ${groups.join(', ')}`}`
  return [{ field: '', found, expected: `a user of one of the groups ${permitted.join(', ')}` }]
}

/** @param environment the environment of this cluster; empty: environments are not compared. */
export function environmentProblems(environment: string, metadata: JsonFields): readonly Problem[] {
  const found = fieldsOf(metadata['annotations'])[ENVIRONMENT_ANNOTATION]
  if (environment === '' || found === environment) return []
  const field = `metadata.annotations[${ENVIRONMENT_ANNOTATION}]`
  return [{ field, found: formatValue(found), expected: environment }]
}

/** The name becomes a label of the chaos pods. */
export function nameProblems(metadata: JsonFields): readonly Problem[] {
  const name = textOf(metadata['name'])
  if (isLabelValue(name)) return []
  return [
    { field: 'metadata.name', found: formatValue(name), expected: 'a valid label value of at most 63 characters' },
  ]
}

function maxDurationProblems(
  spec: JsonFields,
  { maxDurationMs, defaultDurationMs }: AdmissionPolicy['controller'],
): readonly Problem[] {
  const ms = hasValue(spec, 'duration') ? durationMs(spec['duration']) : defaultDurationMs
  if (maxDurationMs === undefined || ms === undefined || ms <= maxDurationMs) return []
  return [{ field: 'spec.duration', found: goDurationOfMs(ms), expected: `at most ${goDurationOfMs(maxDurationMs)}` }]
}

function disabledProblems(spec: JsonFields, disabled: readonly string[]): readonly Problem[] {
  return INJECTOR_KINDS.filter(({ field, name }) => has(spec, field) && disabled.includes(name)).map(
    ({ field, name }) => ({
      field: `spec.${field}`,
      found: name,
      expected: 'another kind, because the operators have disabled this kind',
    }),
  )
}

/**
 * Update checks: the spec must not change, except for count with dynamic targeting. Source: spec/chaos.md 1.8, 2.10.
 */
export function changeProblems(before: unknown, after: unknown): readonly Problem[] {
  const [old, now] = [fieldsOf(before), fieldsOf(after)]
  const changed = changedFields(old['spec'], now['spec'])
  const isStatic = fieldsOf(old['spec'])['staticTargeting'] === true
  const expected = isStatic ? 'the spec of the creation' : 'the spec of the creation, except for count'
  return changed.length > 0 ? [{ field: 'spec', found: `changed ${changed.join(', ')}`, expected }] : []
}

/** A user must not remove the finalizer while chaos pods exist. @param chaosPods their names. */
export function finalizerProblems(before: unknown, after: unknown, chaosPods: readonly string[]): readonly Problem[] {
  const [had, has] = [before, after].map((one) =>
    listOf(fieldsOf(fieldsOf(one)['metadata'])['finalizers']).includes(FINALIZER),
  )
  if (had !== true || has === true || chaosPods.length === 0) return []
  const expected = `${FINALIZER} while these chaos pods exist: ${chaosPods.join(', ')}`
  return [{ field: 'metadata.finalizers', found: 'a removed finalizer', expected }]
}

/**
 * Rejects a new Disruption during an emergency stop.
 *
 * @param places its namespace and the chaos namespace, if they exist.
 * @param namespace its namespace; the stop of another place applies to the whole cluster.
 */
export function stopProblems(places: readonly NamespaceView[], namespace: string): readonly Problem[] {
  return places.flatMap(({ name, stop }) => {
    if (stop === undefined) return []
    const why = stop === '' || stop === 'true' ? '' : `: ${stop}`
    const found = `an emergency stop (annotation ${EMERGENCY_STOP_ANNOTATION} of namespace "${name}")${why}`
    const expected = `no emergency stop; lift it with pawl chaos resume ${name === namespace ? `-n ${name}` : '--all'}`
    return [{ field: 'metadata.namespace', found: found.slice(0, 1000), expected }]
  })
}
