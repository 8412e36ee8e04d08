import { describe, expect, it } from 'vitest'

import { notReady } from '../../../../../../activities/landscaper/deploy/objects/readiness/default-checks.ts'

type Part = Readonly<Record<string, unknown>>

const APPS = 'apps/v1'

function problem(type: [apiVersion: string, kind: string], spec: Part, status: Part | undefined, generation = 2) {
  const [apiVersion, kind] = type
  const seen = status === undefined ? undefined : { observedGeneration: 2, ...status }
  return notReady({
    apiVersion,
    kind,
    metadata: { name: 'x', generation },
    spec,
    ...(seen !== undefined && { status: seen }),
  })
}

const of = (replicas: number): Part => ({ replicas })

const UNSEEN = 'its controller has not observed the latest spec'

describe('a Deployment', () => {
  it.each<[string, Part, Part | undefined, string | undefined]>([
    ['has not been seen', of(0), undefined, UNSEEN],
    ['has a status of an older spec', of(1), { ...all(1), observedGeneration: 1 }, UNSEEN],
    ['is ready with all', of(2), all(2), undefined],
    ['is ready without replicas', of(0), {}, undefined],
    ['wants one by default', {}, {}, '0 of 1 replica updated'],
    ['waits for new replicas', of(3), { ...all(3), updatedReplicas: 1 }, '1 of 3 replicas updated'],
    ['waits for old ones', of(2), { ...all(2), replicas: 3 }, '1 old replica still exists'],
    ['waits for available ones', of(2), { ...all(2), availableReplicas: 1 }, '1 of 2 replicas available'],
    ['scales down', of(1), { ...all(1), replicas: 2, updatedReplicas: 2 }, '1 of 2 replicas available'],
  ])('%s', (_, spec, status, expected) => {
    expect(problem([APPS, 'Deployment'], spec, status)).toBe(expected)
  })

  function all(count: number): Part {
    return { replicas: count, updatedReplicas: count, availableReplicas: count }
  }
})

describe('a StatefulSet', () => {
  it.each<[string, Part, Part | undefined, string | undefined]>([
    ['has not been seen', {}, undefined, UNSEEN],
    ['is ready with all', of(2), { updatedReplicas: 2, availableReplicas: 2 }, undefined],
    ['wants one by default', {}, {}, '0 of 1 replica updated'],
    ['waits for available ones', of(2), { updatedReplicas: 2, availableReplicas: 1 }, '1 of 2 replicas available'],
    ['counts ready ones on old servers', of(1), { updatedReplicas: 1, readyReplicas: 1 }, undefined],
    ['needs no update below its partition', rolling(3, 2), { updatedReplicas: 1, availableReplicas: 3 }, undefined],
    [
      'needs updates above its partition',
      rolling(3, 1),
      { updatedReplicas: 1, availableReplicas: 3 },
      '1 of 2 replicas updated',
    ],
    ['needs all below its partition', rolling(3, 3), { availableReplicas: 2 }, '2 of 3 replicas available'],
    ['is updated by hand', { replicas: 1, updateStrategy: { type: 'OnDelete' } }, { availableReplicas: 1 }, undefined],
  ])('%s', (_, spec, status, expected) => {
    expect(problem([APPS, 'StatefulSet'], spec, status)).toBe(expected)
  })

  function rolling(replicas: number, partition: number): Part {
    return { replicas, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition } } }
  }
})

describe('a DaemonSet', () => {
  it.each<[string, Part, Part | undefined, string | undefined]>([
    ['has not been seen', {}, undefined, UNSEEN],
    ['is ready without nodes', {}, { desiredNumberScheduled: 0 }, undefined],
    ['is ready on all nodes', {}, on(2, 2, 2), undefined],
    ['waits for nodes with the old pod', {}, on(3, 2, 3), '2 of 3 replicas updated'],
    ['waits for available pods', {}, on(3, 3, 1), '1 of 3 replicas available'],
    ['is updated by hand', { updateStrategy: { type: 'OnDelete' } }, on(2, 0, 2), undefined],
  ])('%s', (_, spec, status, expected) => {
    expect(problem([APPS, 'DaemonSet'], spec, status)).toBe(expected)
  })

  function on(desiredNumberScheduled: number, updatedNumberScheduled: number, numberAvailable: number): Part {
    return { desiredNumberScheduled, updatedNumberScheduled, numberAvailable }
  }
})

describe.each([
  ['ReplicaSet', APPS],
  ['ReplicationController', 'v1'],
])('a %s', (kind, apiVersion) => {
  it.each<[string, Part, Part | undefined, string | undefined]>([
    ['has not been seen', {}, undefined, UNSEEN],
    ['wants one by default', {}, {}, '0 of 1 replica ready'],
    ['is ready with enough replicas', of(2), { readyReplicas: 3 }, undefined],
    ['fails to make pods', {}, failure('True'), 'its condition ReplicaFailure is not False'],
    ['may have failed before', {}, failure('False'), undefined],
  ])('%s', (_, spec, status, expected) => {
    expect(problem([apiVersion, kind], spec, status)).toBe(expected)
  })

  function failure(status: string): Part {
    return { readyReplicas: 1, conditions: [{ type: 'ReplicaFailure', status }] }
  }
})

describe('a Pod', () => {
  it.each<[string, Part, string | undefined]>([
    ['is not ready without the condition', {}, 'it has no condition Ready'],
    ['has a false one', { conditions: [{ type: 'Ready', status: 'False' }] }, 'its condition Ready is not True'],
    ['is ready with a true one', { conditions: [{ type: 'Other' }, { type: 'Ready', status: 'True' }] }, undefined],
    ['has completed', { conditions: [{ type: 'Ready', status: 'False', reason: 'PodCompleted' }] }, undefined],
  ])('%s', (_, status, expected) => {
    expect(problem(['v1', 'Pod'], {}, status)).toBe(expected)
  })
})

describe('another kind', () => {
  it.each<[string, string]>([
    ['v1', 'ConfigMap'],
    ['batch/v1', 'Job'],
    ['example.org/v1', 'Deployment'],
    ['v1', 'Deployment'],
  ])('%s %s is ready as soon as it is there', (apiVersion, kind) => {
    expect(problem([apiVersion, kind], {}, undefined)).toBeUndefined()
  })

  it('is not looked into, and a malformed status is not ready', () => {
    const malformed = {
      apiVersion: APPS,
      kind: 'Deployment',
      metadata: { name: 'x' },
      spec: 'a',
      status: { replicas: 'b' },
    }
    expect(notReady(malformed)).toBe('0 of 1 replica updated')
    expect(
      notReady({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' }, status: { conditions: [null, 7] } }),
    ).toBe('it has no condition Ready')
  })
})
