import { describe, expect, it } from 'vitest'
import { DeployError } from '../../../../../activities/landscaper/deploy/run/deployer.ts'
import {
  type ManagedResource,
  orphansOf,
  readManaged,
  union,
  withKnownUids,
} from '../../../../../activities/landscaper/deploy/objects/managed-resources.ts'
import { joinedError } from '../../../../../activities/landscaper/deploy/objects/problems.ts'
import { isToDelete } from '../../../../../activities/landscaper/deploy/objects/remove-object.ts'
import { OWNERSHIP_LABELS } from '../../../../../activities/landscaper/deploy/manifest/ownership-labels.ts'
import { providerStatus } from '../../../../../activities/landscaper/deploy/manifest/provider-status.ts'
import { configMap, manifest } from '../manifest/manifests.ts'

const managed = (name: string, more: object = {}, policy: ManagedResource['policy'] = 'manage'): ManagedResource => ({
  policy,
  resource: { apiVersion: 'v1', kind: 'ConfigMap', name, namespace: 'n', ...more },
})

describe('the managed resources of a status', () => {
  it('are read as written', () => {
    const all = [
      managed('a', { uid: 'u' }),
      { ...managed('b', {}, 'keep'), annotateBeforeDelete: { a: 'b' }, patchBeforeDelete: { data: { x: 'y' } } },
    ]
    expect(readManaged(providerStatus('v', all))).toEqual(all)
  })

  it('are read in the oldest form, a list of references', () => {
    const { resource } = managed('a')
    expect(readManaged({ managedResources: [resource] })).toEqual([managed('a')])
  })

  it('exclude entries that do not name a valid object, so that no entry leads to another path', () => {
    const bad = [
      {},
      null,
      7,
      { resource: {} },
      managed('..'),
      managed('a/b'),
      managed('a', { namespace: '../x' }),
      managed('a', { kind: '' }),
    ]
    expect(readManaged({ managedResources: bad })).toEqual([])
    expect([undefined, null, {}, { managedResources: 'x' }].flatMap(readManaged)).toEqual([])
  })

  it('are merged: all newer entries, and the older entries of objects that the newer entries lack', () => {
    const newer = [managed('a', { uid: 'new' })]
    expect(union([managed('a', { uid: 'old' }), managed('b')], newer)).toEqual([...newer, managed('b')])
  })

  it('keep the uid that a failed attempt did not return', () => {
    expect(
      withKnownUids(
        [managed('a'), managed('b', { uid: '2' }), managed('c')],
        [managed('a', { uid: '1' }), managed('b', { uid: 'x' })],
      ),
    ).toEqual([managed('a', { uid: '1' }), managed('b', { uid: '2' }), managed('c')])
  })
})

describe('a cluster-scoped object whose manifest has a namespace', () => {
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'r' }

  it('keeps the uid that a failed attempt did not return, and its scope in the status', () => {
    const sent: ManagedResource = { policy: 'manage', resource: { ...role, namespace: 'n' } }
    const known: ManagedResource = { policy: 'manage', resource: { ...role, uid: '1' } }
    expect(withKnownUids([sent], [known])).toEqual([known])
  })
})

describe('an orphan', () => {
  it('is a managed object that no manifest lists under any policy or API version', () => {
    const remembered = [managed('a'), managed('b'), managed('c', { namespace: 'other' })]
    expect(orphansOf(remembered, [manifest(configMap('a'), {}, 'ignore')])).toEqual(remembered.slice(1))
    const deployment = { apiVersion: 'apps/v1beta1', kind: 'Deployment', name: 'd', namespace: 'n' }
    const newer = manifest({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd', namespace: 'n' } })
    expect(orphansOf([{ policy: 'manage', resource: deployment }], [newer])).toEqual([])
  })

  it('is not a cluster-scoped object whose manifest has a namespace', () => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'r' }
    const listed = manifest({ apiVersion: role.apiVersion, kind: role.kind, metadata: { name: 'r', namespace: 'n' } })
    expect(orphansOf([{ policy: 'manage', resource: role }], [listed])).toEqual([])
  })
})

describe('an object may be deleted', () => {
  const live = (uid: string, owner?: string) => ({
    metadata: { name: 'a', uid, ...(owner !== undefined && { labels: { [OWNERSHIP_LABELS.label]: owner } }) },
  })

  it.each([
    ['manage', 'u', 'item', true],
    ['manage', 'another', 'item', true],
    ['manage', 'u', undefined, true],
    ['manage', 'another', undefined, false],
    ['manage', 'u', 'other', false],
    ['immutable', 'u', undefined, true],
    ['fallback', 'u', 'item', true],
    ['fallback', 'u', undefined, false],
    ['fallback', 'u', 'other', false],
    ['keep', 'u', 'item', false],
    ['ignore', 'u', 'item', false],
  ] as const)('by policy %s, with uid %s and label %s: %s', (policy, uid, owner, expected) => {
    expect(
      isToDelete(managed('a', { uid: 'u' }, policy), live(uid, owner), { ownership: OWNERSHIP_LABELS, item: 'item' }),
    ).toBe(expected)
  })

  it('of any owner if everything of its type is deleted, except objects to keep', () => {
    expect(isToDelete(managed('a'), live('u', 'other'), undefined)).toBe(true)
    expect(isToDelete(managed('a', {}, 'keep'), live('u', 'item'), undefined)).toBe(false)
  })
})

describe('the errors of several objects', () => {
  const problem = (object: string, reason: string, codes: string[] = []) => ({
    object,
    error: new DeployError('x', reason, 'y'.repeat(1000), codes),
  })

  it('become one error, with the common reason and all codes', () => {
    const joined = joinedError('ApplyManifests', [
      problem('ConfigMap n/a', 'Forbidden'),
      problem('ConfigMap n/b', 'Forbidden'),
    ])
    expect([joined.operation, joined.reason, joined.isFinal]).toEqual(['ApplyManifests', 'Forbidden', false])
    const mixed = joinedError('ApplyManifests', [
      problem('a', 'Forbidden'),
      problem('b', 'Invalid', ['ERR_CONFIGURATION_PROBLEM']),
    ])
    expect([mixed.reason, mixed.codes, mixed.isFinal]).toEqual(['SeveralFailures', ['ERR_CONFIGURATION_PROBLEM'], true])
  })

  it('are each shortened, so that a long message does not hide the other messages', () => {
    const problems = ['a', 'b', 'c'].map((object) => ({ object, error: new DeployError('Op', 'R', 'y'.repeat(1000)) }))
    const { message } = joinedError('Op', problems)
    expect(message).toBe(problems.map(({ object }) => `${object}: ${'y'.repeat(300)}...`).join(' | '))
  })

  it('are limited in number, and the message contains the number of omitted objects', () => {
    const { message } = joinedError(
      'x',
      Array.from({ length: 200 }, (_, index) => problem(`ConfigMap n/${index}`, 'Forbidden')),
    )
    expect(message.length).toBeLessThan(5000)
    expect(message).toMatch(/^ConfigMap n\/0: y/)
    expect(message).toMatch(/and 190 more objects$/)
  })
})
