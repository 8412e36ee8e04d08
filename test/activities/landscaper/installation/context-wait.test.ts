import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import type { LandscaperDeps } from '../../../../activities/landscaper/deps.ts'
import { awaitContext } from '../../../../activities/landscaper/installation/context-wait.ts'
import { createKubeClient, type KubeClient } from '../../../../activities/kube/client.ts'
import { storedAs } from '../../../../activities/kube/object-views.ts'
import { installationKind } from '../../../../workflows/landscaper/installation/kind.ts'
import { API } from '../../../support/cluster/cluster.ts'
import { TinyApi } from '../../kube/tiny-api.ts'

const COMPONENT = { componentDescriptor: { ref: { componentName: 'example.com/shop', version: '1.0.0' } } }
let api: TinyApi
let kube: KubeClient

beforeEach(async () => {
  api = await TinyApi.start()
  kube = createKubeClient({ kubeconfig: api.kubeconfig })
})
afterEach(async () => {
  await kube.close()
  await api.stop()
})

describe('a job does not wait for a Context', () => {
  it.each([
    ['when it reads no component', {}, []],
    ['when it names another one', { ...COMPONENT, context: 'parts' }, []],
    ['in a namespace that is excluded', COMPONENT, ['n']],
    ['where none is made', COMPONENT, undefined],
  ])('%s, and does not look for it', async (_, spec, excluded) => {
    expect(await awaited(spec, excluded)).toBeUndefined()
    expect(api.requests).toEqual([])
  })

  it('when it is of an object that is being deleted: a namespace that goes gets none any more', async () => {
    expect(await awaited(COMPONENT, [], { deletionTimestamp: '2026-01-01T00:00:00Z' })).toBeUndefined()
    expect(api.requests).toEqual([])
  })

  it('that is there, for which one look is enough', async () => {
    api.put(`/apis/${API}/namespaces/n/contexts/default`, { metadata: { name: 'default', namespace: 'n' } })
    expect(await awaited(COMPONENT, [])).toBeUndefined()
    expect(api.requests).toHaveLength(1)
  })
})

async function awaited(
  spec: object,
  excluded: readonly string[] | undefined,
  metadata: object = {},
): Promise<string | undefined> {
  const defaultContexts = excluded && { excluded, repositoryContext: undefined }
  const deps = { kube, landscaper: { defaultContexts } } as LandscaperDeps
  const subject = { kind: 'Installation', uid: 'u', namespace: 'n', name: 'i' }
  const onlooker = { by: { workflowID: 'w', runID: 'r', pass: 1 }, subject, jobID: 'one' }
  return await awaitContext(
    deps,
    onlooker,
    storedAs(installationKind, { metadata: { name: 'i', namespace: 'n', ...metadata }, spec }),
  )
}
