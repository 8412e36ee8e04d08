import { describe, expect, it } from 'vitest'

import { explainDeployItem } from '../../../../workflows/landscaper/deploy-item/explain.ts'

describe('the explanation of a DeployItem', () => {
  const waiting = { type: 'ResourcesReady', status: 'False', message: 'Deployment apps/web: 0 of 2 replicas available' }
  const lastError = { message: 'no such image' }
  const open = { jobID: 'j2', jobIDFinished: 'j1', jobIDGenerationTime: '2026-02-03T04:05:06Z' }
  const pickedUp = { ...open, lastReconcileTime: '2026-02-03T04:05:06.5Z' }

  it.each([
    ['the object that is not ready', { ...pickedUp, conditions: [waiting], lastError }, waiting.message],
    ['the error of a job that retries', { ...pickedUp, lastError }, 'no such image'],
    ['nothing before a deployer has picked the job up', { ...open, conditions: [waiting], lastError }, undefined],
    [
      'the error of a failed job',
      { jobID: 'j1', jobIDFinished: 'j1', conditions: [waiting], lastError },
      'no such image',
    ],
    ['nothing after a success', { jobID: 'j1', jobIDFinished: 'j1' }, undefined],
  ])('has %s', (_what, status, summary) => {
    expect(explainDeployItem({ status }).summary).toBe(summary)
  })

  it('has the deployed objects with a uid', () => {
    const resource = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'apps', name: 'web', uid: 'u1' }
    const managedResources = [{ resource }, { resource: { ...resource, uid: undefined } }]
    expect(explainDeployItem({ status: { providerStatus: { managedResources } } })).toEqual({ deployed: [resource] })
  })
})
