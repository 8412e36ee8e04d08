import { beforeEach, describe, expect, it } from 'vitest'

import { createTargetCluster } from '../../../../../activities/landscaper/deploy/target/discovery.ts'
import type { TargetCluster } from '../../../../../activities/landscaper/deploy/target/target-cluster.ts'
import { readObject } from '../../../../../activities/landscaper/deploy/target/read-object.ts'
import type { KubeClient } from '../../../../../activities/kube/client.ts'
import { KubeError } from '../../../../../activities/kube/errors.ts'

const DEPLOYMENT = { name: 'deployments', kind: 'Deployment', namespaced: true }

let nowMs: number
let requests: string[]
let answer: (path: string) => unknown
let cluster: TargetCluster
let servedKind: TargetCluster['servedKind']
beforeEach(() => {
  nowMs = 0
  requests = []
  answer = () => ({ resources: [DEPLOYMENT, { name: 'deployments/scale', kind: 'Scale', namespaced: true }] })
  const request = <T>(_: string, path: string): Promise<T> => {
    requests.push(path)
    return Promise.resolve().then(() => answer(path) as T)
  }
  cluster = createTargetCluster({ request } as KubeClient, () => new Date(nowMs), 'Target "n/t"')
  servedKind = (apiVersion, kind) => cluster.servedKind(apiVersion, kind)
})

const look = (kind = 'Deployment') => servedKind('apps/v1', kind)
const GROUPS = { kind: 'APIGroupList', groups: [] }
const CORE_KINDS = { kind: 'APIResourceList', resources: [] }
/** Answers these paths, and 404 to all others. */
const only =
  (served: Readonly<Record<string, unknown>>, error = noPath()) =>
  (path: string) => {
    if (path in served) return served[path]
    throw error
  }
const refuse = (status: number) => () => {
  throw new KubeError('GET', { status, reason: 'R' })
}

describe('the kinds that a cluster serves', () => {
  it('are requested once per group and version, also by many callers at once', async () => {
    const expected = { apiVersion: 'apps/v1', kind: 'Deployment', plural: 'deployments', namespaced: true }
    expect(await Promise.all([look(), look(), look()])).toEqual([expected, expected, expected])
    expect(await look('Scale')).toBeUndefined()
    nowMs += 10 * 60_000 - 1
    expect(await look()).toEqual(expected)
    expect(requests).toEqual(['/apis/apps/v1'])
    nowMs += 1
    await look()
    await servedKind('v1', 'Pod')
    expect(requests).toEqual(['/apis/apps/v1', '/apis/apps/v1', '/api/v1'])
  })

  it('are requested again for an unknown kind, at most every second', async () => {
    answer = () => ({ resources: [] })
    for (let tries = 0; tries < 5; tries += 1) expect(await look()).toBeUndefined()
    expect(requests).toHaveLength(1)
    nowMs += 1000
    answer = () => ({ resources: [DEPLOYMENT] })
    expect(await Promise.all([look(), look()])).toMatchObject([{ plural: 'deployments' }, { plural: 'deployments' }])
    expect(requests).toHaveLength(2)
  })

  it('are empty for a group that does not exist, on a server that answers /apis', async () => {
    answer = only({ '/apis': GROUPS })
    expect(await look()).toBeUndefined()
    expect(await look()).toBeUndefined()
    expect(requests).toEqual(['/apis/apps/v1', '/apis'])
  })

  it.each([
    ['v1', {}, 'the server answers 404 to /api/v1', ['/api/v1']],
    ['v2', {}, 'the server answers 404 to /api/v1', ['/api/v2', '/api/v1']],
    [
      'v2',
      { '/api/v1': { kind: 'Welcome' } },
      `the server's answer to /api/v1 is not an APIResourceList`,
      ['/api/v2', '/api/v1'],
    ],
    ['apps/v1', {}, 'the server answers 404 to /apis', ['/apis/apps/v1', '/apis']],
    // A server without the kinds of groups, or a proxy with a page for /apis.
    ['apps/v1', { '/api/v1': CORE_KINDS }, 'the server answers 404 to /apis', ['/apis/apps/v1', '/apis']],
    [
      'apps/v1',
      { '/apis': { groups: [] } },
      `the server's answer to /apis is not an APIGroupList`,
      ['/apis/apps/v1', '/apis'],
    ],
  ])('of %s are unknown if the server is not an API server: %j', async (apiVersion, served, problem, sent) => {
    for (const error of [noPath(), noObject()]) {
      answer = only(served, error)
      requests = []
      await expect(servedKind(apiVersion, 'Any')).rejects.toMatchObject({
        name: 'DeployError',
        reason: 'NotAnAPIServer',
        codes: [],
        message: `Target "n/t": ${problem}; check that its URL is the URL of a Kubernetes API server`,
      })
      expect(requests).toEqual(sent)
    }
  })

  it('are not cached if the server did not answer', async () => {
    answer = refuse(503)
    await expect(look()).rejects.toMatchObject({ status: 503 })
    answer = () => ({ resources: [DEPLOYMENT] })
    expect(await look()).toMatchObject({ plural: 'deployments' })
  })

  it('end the job if the credentials are rejected', async () => {
    answer = refuse(401)
    await expect(look()).rejects.toMatchObject({ name: 'DeployError', codes: ['ERR_UNAUTHORIZED'] })
  })

  it.each(['../api/v1', 'apps/v1/namespaces', '', '/', 'a/..', '..', 'v1?x=y', './v1', 'a%2f/v1'])(
    'is nothing for %j, and nothing is asked',
    async (apiVersion) => {
      expect(await servedKind(apiVersion, 'Pod')).toBeUndefined()
      expect(requests).toEqual([])
    },
  )

  it.each([[{}], [{ resources: 'x' }], [{ resources: null }], [{ metadata: null }]])(
    'is not told by the answer %j, which is a failure',
    async (body) => {
      answer = () => body
      await expect(look()).rejects.toMatchObject({ reason: 'Unreachable', status: 0 })
      answer = () => ({ resources: [DEPLOYMENT] })
      expect(await look()).toMatchObject({ plural: 'deployments' })
    },
  )

  it.each([[{ resources: [{ name: '../x', kind: 'Deployment' }, { name: 7, kind: 'Deployment' }, {}, null, 'x'] }]])(
    'is nothing in the answer %j',
    async (body) => {
      answer = () => body
      expect(await look()).toBeUndefined()
    },
  )
})

const GADGET = { apiVersion: 'g.example/v1', kind: 'Gadget', name: 'x', namespace: 'n' }
const gadgets = (name: string, namespaced: boolean) => ({ resources: [{ name, kind: 'Gadget', namespaced }] })
const noPath = () => new KubeError('GET: 404 NotFound: page not found', { status: 404, reason: 'NotFound' })
const noObject = () =>
  new KubeError('GET', { status: 404, reason: 'NotFound', missing: { kind: 'gadgets', name: 'x' } })

describe('a kind whose definition was replaced after it was cached', () => {
  it.each([
    ['another plural', gadgets('gadgetries', true), '/apis/g.example/v1/namespaces/n/gadgetries/x'],
    ['the cluster as its scope', gadgets('gadgets', false), '/apis/g.example/v1/gadgets/x'],
  ])('is found under %s, although it was cached a moment ago', async (_, resources, path) => {
    answer = () => gadgets('gadgets', true)
    await servedKind(GADGET.apiVersion, GADGET.kind)
    answer = (asked) => {
      if (asked === '/apis/g.example/v1') return resources
      if (asked === path) return { metadata: { name: 'x' } }
      if (asked === '/apis') return GROUPS
      throw noPath()
    }
    expect(await readObject(cluster, GADGET)).toMatchObject({ metadata: { name: 'x' } })
  })

  it('is requested again only for a path that the server does not know, not for a missing object', async () => {
    answer = (asked) => {
      if (asked === '/apis/g.example/v1') return gadgets('gadgets', true)
      throw noObject()
    }
    for (let reads = 0; reads < 3; reads += 1) expect(await readObject(cluster, GADGET)).toBeUndefined()
    expect(requests.filter((path) => path === '/apis/g.example/v1')).toHaveLength(1)
    answer = (asked) => {
      if (asked === '/apis/g.example/v1') return gadgets('gadgets', true)
      if (asked === '/apis') return GROUPS
      throw noPath()
    }
    expect(await readObject(cluster, GADGET)).toBeUndefined()
    expect(requests.filter((path) => path === '/apis/g.example/v1')).toHaveLength(2)
  })

  it('does not prove that its objects are gone if the server is not an API server any more', async () => {
    answer = () => gadgets('gadgets', true)
    await servedKind(GADGET.apiVersion, GADGET.kind)
    answer = only({})
    await expect(readObject(cluster, GADGET)).rejects.toMatchObject({ reason: 'NotAnAPIServer' })
  })

  it('is requested again in all versions of its group, and in no other group, once its group is forgotten', async () => {
    for (const one of ['g.example/v1', 'g.example/v2', 'h.example/v1']) await servedKind(one, 'Gadget')
    cluster.forgetKinds('g.example/v9')
    requests = []
    for (const one of ['g.example/v1', 'g.example/v2', 'h.example/v1']) await servedKind(one, 'Deployment')
    expect(requests).toEqual(['/apis/g.example/v1', '/apis/g.example/v2'])
  })
})
