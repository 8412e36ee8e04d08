import { describe, expect, it } from 'vitest'

import { KubeError } from '../../../activities/kube/errors.ts'
import { createResources, createPermissions } from '../../../worker/api/permissions.ts'
import { createUsers } from '../../../worker/api/users.ts'

const ALICE = { username: 'alice', uid: 'u', groups: ['g'], extra: { key: ['value'] } }
const INSTALLATION = { group: 'landscaper.gardener.cloud', kind: 'Installation' }

/** An API server that knows one group. @param allows an access review. */
function server(allows: (attributes: Readonly<Record<string, string>>) => boolean, review: object = {}) {
  const bodies: { readonly spec: Readonly<Record<string, unknown>> }[] = []
  const request = async (_method: string, path: string, { body }: { readonly body?: unknown } = {}) => {
    await Promise.resolve()
    if (body !== undefined) bodies.push(body as (typeof bodies)[number])
    if (path === '/apis/landscaper.gardener.cloud')
      return { versions: [{ groupVersion: 'landscaper.gardener.cloud/v1alpha1' }] }
    if (path === '/apis/landscaper.gardener.cloud/v1alpha1')
      return {
        resources: [
          { name: 'installations/status', kind: 'Installation', namespaced: true },
          { name: 'installations', kind: 'Installation', namespaced: true },
        ],
      }
    if (path.endsWith('/subjectaccessreviews')) {
      const { resourceAttributes } = bodies.at(-1)!.spec as { resourceAttributes: Readonly<Record<string, string>> }
      return { status: { allowed: allows(resourceAttributes) } }
    }
    if (path.endsWith('/tokenreviews')) return { status: review }
    throw new KubeError(path, { status: 404, reason: 'NotFound' })
  }
  return { kube: { request: request as never }, bodies }
}

describe('the permissions of a user', () => {
  it('are reviewed for user, groups and extra fields, and for the resource of the kind', async () => {
    let now = 0
    let isAllowed = true
    const { kube, bodies } = server(({ namespace }) => isAllowed && namespace === 'team-a')
    const rights = createPermissions(kube, {
      resources: createResources(kube, () => now),
      cachedMs: 10,
      now: () => now,
    })(ALICE)
    expect(await rights.may('get', INSTALLATION, 'team-a')).toBe(true)
    expect(bodies[0]?.spec).toEqual({
      user: 'alice',
      uid: 'u',
      groups: ['g'],
      extra: { key: ['value'] },
      resourceAttributes: {
        verb: 'get',
        group: 'landscaper.gardener.cloud',
        version: '*',
        resource: 'installations',
        namespace: 'team-a',
      },
    })
    expect(await rights.may('get', INSTALLATION, 'team-b')).toBe(false)
    isAllowed = false
    expect(await rights.may('get', INSTALLATION, 'team-a')).toBe(true)
    now = 10
    expect(await rights.may('get', INSTALLATION, 'team-a')).toBe(false)
  })

  it('are denied for a kind that the API server does not have', async () => {
    const { kube, bodies } = server(() => true)
    const rights = createPermissions(kube, {
      resources: createResources(kube, () => 0),
      cachedMs: 10,
      now: () => 0,
    })(ALICE)
    for (const group of ['gone.example.org', '../../api/v1/secrets', 'landscaper.gardener.cloud']) {
      expect(await rights.may('get', { group, kind: 'Gone' }, 'team-a')).toBe(false)
      expect(await rights.hasScope({ group, kind: 'Gone' }, 'team-a')).toBe(false)
    }
    expect(await rights.hasScope(INSTALLATION, 'team-a')).toBe(true)
    expect(await rights.hasScope(INSTALLATION, '')).toBe(false)
    expect(bodies).toEqual([])
  })
})

describe('a token review', () => {
  const users = (review: object, audiences: readonly string[] = []) => {
    const { kube, bodies } = server(() => true, review)
    return { ask: createUsers(kube, { audiences, cachedMs: 10, reviewsPerSecond: 50, now: () => 0 }), bodies }
  }

  it.each([
    [{ authenticated: false, user: ALICE }, []],
    [{ user: ALICE }, []],
    [{ authenticated: true, user: {} }, []],
    [{ authenticated: true, user: ALICE }, ['pawl']],
    [{ authenticated: true, user: ALICE, audiences: ['vault'] }, ['pawl']],
  ])('returns no user for answer %j and audiences %j', async (review, audiences) => {
    expect(await users(review, audiences).ask('token')).toBeUndefined()
  })
})
