// The finalizer of Targets in use and of their Secrets, on a small API server: when it is added and removed, what a crash between two writes leaves, and
// what comes of a race. Source: docs/adr/0064.

import { beforeEach, describe, expect, inject, it } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import type { TargetObjects } from '../../activities/landscaper/deploy/target/target-cluster.ts'
import { createProtection, type Protection } from '../../activities/landscaper/deploy/target/protection.ts'
import { FINALIZER, HELD_SECRET_ANNOTATION, IN_USE_FINALIZER } from '../../workflows/landscaper/contract.ts'
import { refusal } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'

const API = 'landscaper.gardener.cloud/v1alpha1'
const BY = { workflowID: 'deploy/uid-exec/job', runID: 'run', pass: 1 }
const MANIFEST = 'landscaper.gardener.cloud/kubernetes-manifest'
const NOW = '2030-01-01T00:00:00Z'

const stage = useWriteStage(inject('servers').databaseUrl)
let protection: Protection
beforeEach(() => (protection = createProtection(stage().deps, true)))

const pathOf = (plural: string, name: string) =>
  plural === 'secrets' ? `/api/v1/namespaces/n/secrets/${name}` : `/apis/${API}/namespaces/n/${plural}/${name}`

function put(plural: string, name: string, fields: object = {}, metadata: object = {}): KubeObject {
  const object = { metadata: { name, namespace: 'n', uid: `uid-${name}`, ...metadata }, ...fields }
  return stage().api.put(pathOf(plural, name), object)
}

const target = (name: string, secret?: string, metadata: object = {}) =>
  put('targets', name, { spec: { type: 'x', ...(secret !== undefined && { secretRef: { name: secret } }) } }, metadata)

const item = (name: string, of: string, fields: object = {}, metadata: object = {}) =>
  put('deployitems', name, { spec: { type: MANIFEST, target: { name: of } }, ...fields }, metadata)

const objectsOf = (name: string, secret?: string): TargetObjects => ({
  target: stage().api.objects.get(pathOf('targets', name)) as TargetObjects['target'],
  secret: secret === undefined ? undefined : stage().api.objects.get(pathOf('secrets', secret)),
})

const hold = (name: string, secret?: string) => protection.addFinalizers(BY, objectsOf(name, secret))
const release = () => protection.removeFinalizers(BY, 'n')
const finalizers = (plural: string, name: string) =>
  stage().api.objects.get(pathOf(plural, name))?.metadata.finalizers ?? []
/** The finalizers of the Target `here` and of the Secret `access`. */
const both = () => [finalizers('targets', 'here'), finalizers('secrets', 'access')]
const HELD = [[IN_USE_FINALIZER], [IN_USE_FINALIZER]]
/** The API server fails to change objects of this plural. */
const failing = (plural: string) => {
  stage().api.intercept = ({ method, path }) =>
    method === 'PATCH' && path.includes(plural) ? refusal(500, 'InternalError') : undefined
}
const writes = () => stage().api.requests.filter((request) => request.startsWith('PATCH'))

describe('a Target that is used', () => {
  it('gets the finalizer with its Secret, once, also when many items use it at the same time', async () => {
    put('secrets', 'access')
    target('here', 'access', { finalizers: ['example.com/other'] })
    const seen = objectsOf('here', 'access')
    await Promise.all([1, 2, 3].map(() => protection.addFinalizers(BY, seen)))
    expect(finalizers('targets', 'here')).toEqual(['example.com/other', IN_USE_FINALIZER])
    expect(finalizers('secrets', 'access')).toEqual([IN_USE_FINALIZER])
    await hold('here', 'access')
    expect(writes()).toEqual(['PATCH targets/here', 'PATCH secrets/access'])
  })

  it('names its Secret before the Secret gets the finalizer, so that the next use completes a crash between them', async () => {
    put('secrets', 'access')
    target('here', 'access')
    failing('secrets')
    await expect(hold('here', 'access')).rejects.toThrow()
    expect(objectsOf('here').target.metadata.annotations).toEqual({ [HELD_SECRET_ANNOTATION]: 'access' })
    stage().api.intercept = () => undefined
    await hold('here', 'access')
    expect(finalizers('secrets', 'access')).toEqual([IN_USE_FINALIZER])
  })

  it('releases its former Secret when it references another one, unless another Target holds that', async () => {
    put('secrets', 'old')
    put('secrets', 'new')
    target('here', 'old')
    target('there', 'old')
    await hold('here', 'old')
    await hold('there', 'old')
    const change = (name: string) => {
      const { metadata } = objectsOf(name).target
      put('targets', name, { spec: { type: 'x', secretRef: { name: 'new' } } }, metadata)
    }
    change('here')
    await hold('here', 'new')
    expect([finalizers('secrets', 'old'), finalizers('secrets', 'new')]).toEqual(HELD)
    change('there')
    await hold('there', 'new')
    expect(finalizers('secrets', 'old')).toEqual([])
  })

  it('is left alone when it is being deleted, and when the worker has --protect no', async () => {
    target('going', undefined, { deletionTimestamp: NOW, finalizers: ['example.com/other'] })
    await hold('going')
    target('here')
    await createProtection(stage().deps, false).addFinalizers(BY, objectsOf('here'))
    expect(writes()).toEqual([])
  })
})

describe('a Target that no run would release', () => {
  it.each(['example.org/foreign', 'landscaper.gardener.cloud/mock'])(
    'is not kept by an item that Pawl does not uninstall: type %s',
    async (type) => {
      target('here')
      await hold('here')
      item('one', 'here', { spec: { type, target: { name: 'here' } } }, { finalizers: ['example.org/theirs'] })
      await release()
      expect(finalizers('targets', 'here')).toEqual([])
    },
  )

  it('loses the finalizer when the worker has --protect no and the Target is unused; a used Target gets none', async () => {
    target('unused')
    target('used')
    await hold('unused')
    item('one', 'used', { status: { providerStatus: {} } })
    await createProtection(stage().deps, false).removeFinalizers(BY, 'n')
    expect([finalizers('targets', 'unused'), finalizers('targets', 'used')]).toEqual([[], []])
  })
})

describe('a release', () => {
  beforeEach(async () => {
    put('secrets', 'access')
    target('here', 'access')
    await hold('here', 'access')
  })

  it.each([
    ['spec.target', {}],
    [
      'the Target that its status names',
      { spec: { type: MANIFEST }, status: { providerStatus: { target: { name: 'here' } } } },
    ],
    [
      'a targetName of its configuration',
      { spec: { type: MANIFEST, config: { exports: { exports: [{ fromResource: {}, targetName: 'here' }] } } } },
    ],
  ])('keeps the finalizer as long as an item needs the Target by %s', async (_, fields) => {
    item('a', 'here', fields)
    await release()
    expect(both()).toEqual(HELD)
    item('a', 'here', fields, { deletionTimestamp: NOW, finalizers: [FINALIZER] })
    await release()
    expect(finalizers('targets', 'here')).toEqual([IN_USE_FINALIZER])
    item('a', 'here', fields, { deletionTimestamp: NOW, finalizers: ['example.com/other'] })
    await release()
    expect(both()).toEqual([[], []])
    expect(objectsOf('here').target.metadata.annotations ?? {}).toEqual({})
  })

  it('keeps a Secret that another Target in use references', async () => {
    target('there', 'access')
    await hold('there', 'access')
    item('a', 'there')
    await release()
    expect(both()).toEqual([[], [IN_USE_FINALIZER]])
  })

  it('does not count the item that is about to be released', async () => {
    item('a', 'here')
    await protection.removeFinalizers(BY, 'n', 'uid-a')
    expect(finalizers('targets', 'here')).toEqual([])
  })

  it('is completed by a repetition when it crashes between Secret and Target', async () => {
    failing('targets')
    await expect(release()).rejects.toThrow()
    expect(both()).toEqual([[IN_USE_FINALIZER], []])
    stage().api.intercept = () => undefined
    await release()
    expect(finalizers('targets', 'here')).toEqual([])
  })

  it('restores the finalizer for an item that has deployed while it was removed, also when it crashes in between', async () => {
    const deployed = { status: { providerStatus: { target: { name: 'here' } } } }
    let lists = 0
    stage().api.intercept = ({ method, path }) => {
      if (method !== 'GET' || !path.endsWith('/deployitems')) return undefined
      lists += 1
      if (lists === 2) item('late', 'here', deployed)
      return lists === 2 ? refusal(500, 'InternalError') : undefined
    }
    await expect(release()).rejects.toThrow()
    expect(finalizers('targets', 'here')).toEqual([])
    await release()
    expect(both()).toEqual(HELD)
  })

  it('names the items that hold a Target under deletion in one Event on the Target', async () => {
    const { metadata } = objectsOf('here', 'access').target
    put('targets', 'here', { spec: { type: 'x' } }, { ...metadata, deletionTimestamp: NOW })
    item('a', 'here')
    item('b', 'here')
    expect(await release()).toEqual(new Map([['here', ['a', 'b']]]))
    await release()
    const events = [...stage().api.objects.values()].filter(({ kind }) => kind === 'Event')
    expect(events).toMatchObject([{ reason: 'TargetInUse', involvedObject: { kind: 'Target', name: 'here' } }])
    expect(events[0]?.['message']).toMatch(/uninstalled: a, b$/)
  })

  it('of Targets that nothing holds writes nothing', async () => {
    item('a', 'here')
    const before = writes().length
    await release()
    expect(writes()).toHaveLength(before)
  })
})
