import { describe, expect, it } from 'vitest'

import { pickFields } from '../../../../../workflows/kit/index.ts'

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '1', labels: { 'a.b/c': 'x', d: 'y' } },
  spec: { nodeName: 'one', containers: [{ name: 'web' }] },
  status: { phase: 'Running', podIP: '10.0.0.1' },
}

describe('a query that picks fields', () => {
  it('returns these fields and the identity of the object', () => {
    expect(pickFields(pod, ['status.phase', 'metadata.labels.a.b/c', 'spec.containers', 'spec.missing'])).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '1', labels: { 'a.b/c': 'x' } },
      spec: { containers: [{ name: 'web' }] },
      status: { phase: 'Running' },
    })
  })

  it('does not change the object', () => {
    const before = structuredClone(pod)
    expect(pickFields(pod, ['spec', 'spec.nodeName', 'metadata.labels'])).toHaveProperty('spec.nodeName', 'one')
    expect(pod).toEqual(before)
  })
})
