// Patches that actions of level mode send to objects of other owners, and concurrent changes of these objects. Against
// an API server that the test controls, and a real journal.

import { beforeEach, describe, expect, inject, it } from 'vitest'

import { createActivities } from '../../activities/index.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { CONTENT, type ObjectPatch, type ObservedObject } from '../../workflows/kit/index.ts'
import type { TinyApi } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'

const MAPS = '/api/v1/namespaces/n/configmaps'

const stage = useWriteStage(inject('servers').databaseUrl)
let api: TinyApi
let act: ReturnType<typeof createActivities>
beforeEach(() => {
  ;({ api } = stage())
  const followed = [{ apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', projection: [], hashed: [CONTENT] }]
  act = createActivities({ ...stage().deps, followed }, [])
})

const base = {
  by: { workflowID: 'shop/uid-shop', runID: 'run', pass: 1 },
  subject: { kind: 'Shop', uid: 'uid-shop', namespace: 'n', name: 'shop' },
  target: { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' },
}
const maps = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' }
const owner = { apiVersion: 'example.com/v1', kind: 'Shop', name: 'shop', uid: 'uid-shop', controller: true }

const map = (data: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  data,
  metadata: { name: 'a', namespace: 'n', uid: 'uid-a', ...metadata },
})
const observed = (object: KubeObject) => object as unknown as ObservedObject
const stored = (path = `${MAPS}/a`) => api.objects.get(path)
const writes = () => api.requests.filter((request) => !request.startsWith('GET'))

/** Makes a change just before the API server handles the next write, once. */
function race(change: () => void): void {
  api.intercept = ({ method }) => {
    if (method !== 'GET') {
      api.intercept = () => undefined
      change()
    }
    return undefined
  }
}

describe('a patch of an object that the target does not own', () => {
  const patch = async (object: KubeObject, fields: ObjectPatch, fenced = false) =>
    await act.patchLevel({ ...base, resource: maps, object: observed(object), patch: fields, fenced })

  it('writes only its own fields, keeps concurrent changes of other writers, and cannot set owner references', async () => {
    const object = api.put(`${MAPS}/a`, map({ theirs: '1' }))
    race(() => api.put(`${MAPS}/a`, map({ theirs: '2' })))
    expect(await patch(object, { data: { ours: 'x' }, metadata: { annotations: { seen: 'yes' } } })).toBe('patched')
    expect(stored()).toMatchObject({ data: { theirs: '2', ours: 'x' }, metadata: { annotations: { seen: 'yes' } } })
    expect(stored()?.metadata).not.toHaveProperty('ownerReferences')
    const before = writes().length
    expect(await patch(object, { data: { ours: 'x' } })).toBe('patched')
    expect(writes()).toHaveLength(before)
    const forged = { metadata: { ownerReferences: [owner] } } as ObjectPatch
    await expect(patch(object, forged)).rejects.toMatchObject({ type: 'InvalidPatch', nonRetryable: true })
  })

  it('is not sent for another object of the same name, or, if fenced, for another version', async () => {
    const object = api.put(`${MAPS}/a`, map({ theirs: '1' }))
    api.put(`${MAPS}/a`, map({ theirs: '2' }))
    expect(await patch(object, { data: { ours: 'x' } }, true)).toBe('changed')
    api.put(`${MAPS}/a`, map({ theirs: '2' }, { uid: 'uid-b' }))
    expect(await patch(object, { data: { ours: 'x' } })).toBe('changed')
    expect(writes()).toEqual([])
  })

  it('writes status fields by a second request to the status endpoint', async () => {
    const object = api.put(`${MAPS}/a`, map({}))
    expect(await patch(object, { status: { seen: 'yes' }, data: { ours: 'x' } }, true)).toBe('patched')
    expect(writes()).toEqual(['PATCH configmaps/a', 'PATCH a/status'])
    expect(stored()).toMatchObject({ status: { seen: 'yes' }, data: { ours: 'x' } })
  })

  /** Makes a change just before the API server handles the status request, once. */
  const beforeStatus = (change: () => void) => {
    api.intercept = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/status')) {
        api.intercept = () => undefined
        change()
      }
      return undefined
    }
  }
  const both = { data: { ours: 'x' }, status: { seen: 'ours' } }

  it('with a fence does not overwrite a change between its first request and its status request', async () => {
    const object = api.put(`${MAPS}/a`, map({ theirs: '1' }))
    beforeStatus(() => api.put(`${MAPS}/a`, { ...map({ theirs: '2', ours: 'x' }), status: { seen: 'theirs' } }))
    expect(await patch(object, both, true)).toBe('changed')
    expect(stored()).toMatchObject({ data: { theirs: '2' }, status: { seen: 'theirs' } })
  })

  it('with a fence does not overwrite the status if another writer has already made the change of the first request', async () => {
    const object = api.put(`${MAPS}/a`, map({ theirs: '1' }))
    race(() => api.put(`${MAPS}/a`, { ...map({ theirs: '2', ours: 'x' }), status: { seen: 'theirs' } }))
    expect(await patch(object, both, true)).toBe('changed')
    expect(stored()).toMatchObject({ status: { seen: 'theirs' } })
    const again = api.put(`${MAPS}/a`, map({ theirs: '1' }))
    race(() => api.put(`${MAPS}/a`, { ...map({ ours: 'x' }), status: { seen: 'ours' } }))
    expect(await patch(again, both, true)).toBe('patched')
  })

  it('without a fence writes its status fields, and keeps concurrent changes of other writers', async () => {
    const object = api.put(`${MAPS}/a`, map({ theirs: '1' }))
    beforeStatus(() => api.put(`${MAPS}/a`, { ...map({ theirs: '2', ours: 'x' }), status: { theirs: 'yes' } }))
    expect(await patch(object, both)).toBe('patched')
    expect(stored()).toMatchObject({ data: { theirs: '2' }, status: { seen: 'ours', theirs: 'yes' } })
  })
})
