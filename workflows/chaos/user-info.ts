// The webhook records the user who created a Disruption, cron or rollout. Wire format: spec/chaos.md 2.10 "User info".
//
// U1. A value that a client sets at creation is overwritten.
// U2. The value never changes: an update without it keeps it, and an update with another value is rejected.

import type { AdmissionRequest, FieldChange, MetadataRules, Mutation, Problem } from '../kit/index.ts'
import { USER_INFO_ANNOTATION } from './contract.ts'
import { fieldsOf, formatValue } from './json-fields.ts'

export const USER_INFO_MUTATIONS: readonly Mutation[] = [
  { name: 'user-info', filter: { spec: true }, whenUnavailable: 'record-policy', mutate: userInfoChange },
  // A failure of this mutation must not block the request, because it only restores a value.
  {
    name: 'user-info-gone',
    filter: { annotationsRemoved: [USER_INFO_ANNOTATION] },
    whenUnavailable: 'pass',
    mutate: userInfoChange,
  },
]

/** U2 */
export const USER_INFO_RULES: MetadataRules = {
  filter: { annotationsSet: [USER_INFO_ANNOTATION], annotationsRemoved: [USER_INFO_ANNOTATION] },
  validate: userProblems,
}

function userInfoChange({ operation, object, old, user }: AdmissionRequest): readonly FieldChange[] {
  const [now, before] = [object, old].map(userInfoIn)
  // U1
  const by = operation === 'CREATE' ? JSON.stringify({ username: user.name, groups: user.groups }) : (now ?? before)
  return by === undefined ? [] : [{ path: ['metadata', 'annotations', USER_INFO_ANNOTATION], value: by }]
}

function userProblems({ object, old }: AdmissionRequest): readonly Problem[] {
  const [now, before] = [object, old].map(userInfoIn)
  if (before === undefined || before === now) return []
  const field = `metadata.annotations[${USER_INFO_ANNOTATION}]`
  return [{ field, found: formatValue(now), expected: 'the value of the creation' }]
}

function userInfoIn(object: unknown): unknown {
  return fieldsOf(fieldsOf(fieldsOf(object)['metadata'])['annotations'])[USER_INFO_ANNOTATION]
}
