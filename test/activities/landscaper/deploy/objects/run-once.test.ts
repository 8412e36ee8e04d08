// Tests which objects run once, and whether a job recreates one that no longer exists.

import { describe, expect, it } from 'vitest'

import type { ManagedResource } from '../../../../../activities/landscaper/deploy/objects/managed-resources.ts'
import type { Manifest } from '../../../../../activities/landscaper/deploy/objects/manifest.ts'
import {
  appliedBy,
  isCompleted,
  isFinished,
  runsOnce,
} from '../../../../../activities/landscaper/deploy/objects/run-once.ts'
import { configMap, manifest } from '../manifest/manifests.ts'

const object = (apiVersion: string, kind: string, spec: object = {}, metadata: object = {}) =>
  manifest({ apiVersion, kind, metadata: { name: 'x', namespace: 'n', ...metadata }, spec }).object
const token = (data: object) =>
  manifest({ ...configMap('x', { ...data }), kind: 'Secret', type: 'bootstrap.kubernetes.io/token' }).object
const owner = { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }] }

describe('an object runs once', () => {
  it.each([
    ['a Job', object('batch/v1', 'Job'), true],
    ['a Job of an older version', object('batch/v1beta1', 'Job'), true],
    ['a Pod that never restarts', object('v1', 'Pod', { restartPolicy: 'Never' }), true],
    ['a Pod that restarts on failure', object('v1', 'Pod', { restartPolicy: 'OnFailure' }), true],
    ['a custom object with ttlSecondsAfterFinished', object('g/v1', 'Run', { ttlSecondsAfterFinished: 0 }), true],
    ['an Argo Workflow with a ttlStrategy', object('argoproj.io/v1alpha1', 'Workflow', { ttlStrategy: {} }), true],
    ['a Spark application with a TTL', object('g/v1', 'SparkApplication', { timeToLiveSeconds: 9 }), true],
    ['an object with an owner', object('v1', 'ConfigMap', {}, owner), true],
    ['an Event', object('events.k8s.io/v1', 'Event'), true],
    ['a CertificateSigningRequest', object('certificates.k8s.io/v1', 'CertificateSigningRequest'), true],
    ['a bootstrap token that expires', token({ expiration: 'x' }), true],
    ['a bootstrap token that does not expire', token({}), false],
    ['a Pod that restarts always', object('v1', 'Pod', { restartPolicy: 'Always' }), false],
    ['a CronJob', object('batch/v1', 'CronJob'), false],
    ['a Job of another group', object('g/v1', 'Job'), false],
    ['a record with the TTL of a name', object('dns.gardener.cloud/v1alpha1', 'DNSEntry', { ttl: 120 }), false],
    ['a ConfigMap', manifest(configMap('x')).object, false],
  ])('%s: %o is %s', (_, wanted, expected) => {
    expect(runsOnce(wanted)).toBe(expected)
  })

  it.each([
    [{ conditions: [{ type: 'Complete', status: 'True' }] }, true],
    [{ completionTime: '2026-01-01T00:00:00Z' }, true],
    [{ finishedAt: '2026-01-01T00:00:00Z' }, true],
    [{ finishedAt: null, conditions: [{ type: 'Complete', status: 'False' }] }, false],
    [{ phase: 'Succeeded' }, false],
    [undefined, false],
  ])('whatever its kind, once its status is %j: %s', (status, expected) => {
    expect(isCompleted({ metadata: { name: 'x' }, status })).toBe(expected)
  })
})

describe('an object that was applied and is gone', () => {
  const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'x', namespace: 'n' }, spec: { parallelism: 1 } }
  const known = (one: Manifest, jobID: string, uid: string | undefined = 'u'): ManagedResource => {
    const applied = appliedBy(one, jobID)
    const resource = { apiVersion: 'batch/v1', kind: 'Job', name: 'x', ...(uid !== '' && { uid }) }
    return { policy: 'manage', resource, ...(applied !== undefined && { applied }) }
  }
  const one = (recreate?: string) => manifest(job, recreate === undefined ? {} : { recreate })
  const edited = manifest({ ...job, spec: { parallelism: 2 } })

  it.each([
    ['is not created again by the same job', one(), known(one(), '1'), '1', true],
    ['is created again by the next job', one(), known(one(), '1'), '2', false],
    ['is created again when its manifest has changed', edited, known(one(), '1'), '1', false],
    ['is created when no create is known to have come through', one(), known(one(), '1', ''), '1', false],
    ['is never created again with recreate: never', one('never'), known(one('never'), '1'), '2', true],
    ['is always created again with recreate: always', one('always'), known(one(), '1'), '1', false],
    ['is shown as created again by a preview, which has no job', one(), known(one(), ''), undefined, false],
  ])('%s', (...[, wanted, remembered, jobID, expected]) => {
    expect(isFinished(wanted, remembered, jobID)).toBe(expected)
  })
})
