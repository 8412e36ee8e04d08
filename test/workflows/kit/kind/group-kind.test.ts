import { describe, expect, it } from 'vitest'

import { groupKindOf, groupKindText, isSameGroupKind } from '../../../../workflows/kit/index.ts'

describe('a kind by group and name', () => {
  it('is written like in kubectl: a core kind is its name alone', () => {
    expect(groupKindText(groupKindOf({ apiVersion: 'v1', kind: 'Service' }))).toBe('Service')
    expect(groupKindText(groupKindOf({ apiVersion: 'apps/v1', kind: 'Deployment' }))).toBe('Deployment.apps')
    expect(groupKindText(groupKindOf({ apiVersion: 'serving.example.com/v1', kind: 'Service' }))).toBe(
      'Service.serving.example.com',
    )
  })

  it('is equal in every version, and differs between groups', () => {
    const of = (apiVersion: string, kind = 'Service') => groupKindOf({ apiVersion, kind })
    expect(isSameGroupKind(of('example.com/v1'), of('example.com/v2'))).toBe(true)
    expect(isSameGroupKind(of('example.com/v1'), of('v1'))).toBe(false)
    expect(isSameGroupKind(of('v1'), of('v1', 'Pod'))).toBe(false)
  })
})
