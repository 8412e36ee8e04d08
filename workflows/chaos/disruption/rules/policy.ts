// What the operators of a cluster allow: asked when a Disruption is made. Pure; who asks knows the configuration, the time and the user.
// Source: spec/chaos.md 2.10 "Create checks", in their order.

import type { Problem } from '../../../kit/index.ts'
import { ENVIRONMENT_ANNOTATION, INJECTOR_KINDS } from '../../contract.ts'
import { durationMs, goDurationOfMs } from '../../go-duration.ts'
import { fieldsOf, has, type JsonFields, says, shown, textOf } from '../../json-fields.ts'
import { nodeBanProblems } from './safety-nets.ts'
import { isLabelValue } from './targeting.ts'
import { pastTriggerProblems } from './timing.ts'

/** The part of the configuration that creations are held to. */
export interface AdmissionPolicy {
  readonly controller: {
    readonly deleteOnly: boolean
    readonly defaultDurationMs: number
    /** Undefined: as long as anybody wants. */
    readonly maxDurationMs?: number | undefined
    /** Names of kinds, such as `cpu-pressure`. */
    readonly disabledDisruptions: readonly string[]
    readonly safeMode: {
      readonly enable: boolean
      readonly allowNodeFailure: boolean
      readonly allowNodeLevel: boolean
      /** Empty: that of every author. */
      readonly environment: string
      /** Empty: everybody. */
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
      ? [{ field: '', found: 'a new Disruption', expected: 'none: only deletions are carried out' }]
      : []),
    ...userGroupProblems(controller.safeMode.permittedUserGroups, groups),
    ...nameProblems(fieldsOf(metadata)),
    ...environmentProblems(controller.safeMode.environment, fieldsOf(metadata)),
    ...(spec['onInit'] === true && !handler.enabled
      ? [{ field: 'spec.onInit', found: 'true', expected: 'false: the init container is not enabled' }]
      : []),
    ...pastTriggerProblems(spec, 'spec', nowMs),
    ...longestProblems(spec, controller),
    ...disabledProblems(spec, controller.disabledDisruptions),
    ...nodeBanProblems(spec, controller.safeMode),
  ]
}

/** Who may make one. @param permitted empty: everybody. */
export function userGroupProblems(permitted: readonly string[], groups: readonly string[]): readonly Problem[] {
  if (permitted.length === 0 || groups.some((group) => permitted.includes(group))) return []
  const found = `a user of ${groups.length === 0 ? 'no group' : `the groups ${groups.join(', ')}`}`
  return [{ field: '', found, expected: `one of ${permitted.join(', ')}` }]
}

/** @param environment empty: that of every author. */
export function environmentProblems(environment: string, metadata: JsonFields): readonly Problem[] {
  const found = fieldsOf(metadata['annotations'])[ENVIRONMENT_ANNOTATION]
  if (environment === '' || found === environment) return []
  const field = `metadata.annotations[${ENVIRONMENT_ANNOTATION}]`
  return [{ field, found: shown(found), expected: environment }]
}

/** The name becomes a label of chaos pods. */
export function nameProblems(metadata: JsonFields): readonly Problem[] {
  const name = textOf(metadata['name'])
  if (isLabelValue(name)) return []
  return [{ field: 'metadata.name', found: shown(name), expected: 'a name that may be a label: at most 63 characters' }]
}

function longestProblems(
  spec: JsonFields,
  { maxDurationMs, defaultDurationMs }: AdmissionPolicy['controller'],
): readonly Problem[] {
  const ms = says(spec, 'duration') ? durationMs(spec['duration']) : defaultDurationMs
  if (maxDurationMs === undefined || ms === undefined || ms <= maxDurationMs) return []
  return [{ field: 'spec.duration', found: goDurationOfMs(ms), expected: `at most ${goDurationOfMs(maxDurationMs)}` }]
}

function disabledProblems(spec: JsonFields, disabled: readonly string[]): readonly Problem[] {
  return INJECTOR_KINDS.filter(({ field, name }) => has(spec, field) && disabled.includes(name)).map(
    ({ field, name }) => ({ field: `spec.${field}`, found: name, expected: 'a kind that is not disabled' }),
  )
}
