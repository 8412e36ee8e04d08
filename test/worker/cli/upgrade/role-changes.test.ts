// Permissions that a new Role adds or removes.

import { describe, expect, it } from 'vitest'

import { roleChanges } from '../../../../worker/cli/upgrade/role-changes.ts'

const rule = (apiGroups: string[], resources: string[], verbs: string[], more: object = {}) => ({
  apiGroups,
  resources,
  verbs,
  ...more,
})

describe('the changes of a role', () => {
  it('are the permissions that only one of both has', () => {
    const live = { rules: [rule([''], ['pods', 'pods/status'], ['get']), rule(['apps'], ['deployments'], ['list'])] }
    const next = { rules: [rule([''], ['pods'], ['get', 'delete'])] }
    expect(roleChanges(live, next)).toEqual({
      added: ['delete pods'],
      removed: ['get pods/status', 'list deployments.apps'],
    })
  })

  it('are none if the same permissions are in other rules', () => {
    const live = { rules: [rule([''], ['pods', 'secrets'], ['get', 'list'])] }
    const next = { rules: [rule([''], ['pods'], ['list', 'get']), rule([''], ['secrets'], ['get', 'list'])] }
    expect(roleChanges(live, next)).toEqual({ added: [], removed: [] })
  })

  it('include names and URLs', () => {
    const live = { rules: [rule([''], ['secrets'], ['get'], { resourceNames: ['key'] })] }
    const next = { rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }] }
    expect(roleChanges(live, next)).toEqual({ added: ['get /metrics'], removed: ['get secrets "key"'] })
  })
})
