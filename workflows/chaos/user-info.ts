// Who has made a Disruption, a cron or a rollout, as the API server has known the user: the webhook records it. Wire format: spec/chaos.md 2.10 "User info".
//
//   U1. What a client writes there at creation is not kept.
//   U2. It stays: what leaves it out keeps it, and what changes it is refused.

import type { AdmissionRequest, FieldChange, MetadataRules, Mutation, Problem } from '../kit/index.ts'
import { USER_INFO_ANNOTATION } from './contract.ts'
import { fieldsOf, shown } from './json-fields.ts'

export const USER_INFO_MUTATIONS: readonly Mutation[] = [
  { name: 'user-info', filter: { spec: true }, whenUnavailable: 'record-policy', mutate: userInfoChange },
  // Nothing waits for what is only kept.
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
  return [{ field, found: shown(now), expected: 'who it was when it was created' }]
}

function userInfoIn(object: unknown): unknown {
  return fieldsOf(fieldsOf(fieldsOf(object)['metadata'])['annotations'])[USER_INFO_ANNOTATION]
}
