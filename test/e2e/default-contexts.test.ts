// Tests the Context `default` of a namespace: which jobs wait for it, how Pawl completes a Context that a user created,
// and that Pawl recreates a deleted one.
// Source: spec/landscaper.md 1.7.

import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { API, installation, item, type LsObject } from '../support/cluster/cluster.ts'
import { blob, BLUEPRINT_TYPE, descriptorV2, newRegistry, tarOf } from '../support/registries/component-registry.ts'
import { useStage } from '../support/pawl/stage.ts'
import { deploying } from '../support/landscaper/sub-installations.ts'

const SHOP = { componentName: 'example.com/shop', version: '1.0.0' }
const REPOSITORY = { type: 'local', filePath: 'repo' }
const registry = newRegistry({
  'repo/shop/component-descriptor.yaml': JSON.stringify(
    descriptorV2(SHOP.componentName, SHOP.version, { resources: [blob('blueprint', BLUEPRINT_TYPE)] }),
  ),
  'repo/shop/blobs/blueprint': tarOf({ 'blueprint.yaml': JSON.stringify(deploying({ name: 'web' })) }, '--gzip'),
})
afterAll(() => registry.remove())

// The first worker does not run the controller that creates Contexts.
const stage = useStage('default-contexts', () => {
  const ofBoth = ['--default-contexts', 'yes', '--content-key', join(registry.folder, 'content.key')]
  const repository = ['--registry-local', registry.folder, '--default-context-repository', JSON.stringify(REPOSITORY)]
  const workerFlags = [...ofBoth, ...repository, '--only', 'installation,execution,deploy']
  return Promise.resolve({ bridgeFlags: ofBoth, workerFlags })
})

const waitOf = (one: LsObject | undefined) =>
  (one?.status?.['conditions'] as { type: string; status: string; message: string }[] | undefined)?.find(
    ({ type }) => type === 'WaitsForContext',
  )

async function ofComponent(name: string, ref: object): Promise<void> {
  const blueprint = { ref: { resourceName: 'blueprint' } }
  const spec = { componentDescriptor: { ref }, blueprint }
  await stage.cluster.create({ ...installation(name, []), spec }, 'installations')
}

describe('the default Context of a namespace', () => {
  it('is waited for by a job that needs it, and by no other, until it is there', async () => {
    const { cluster } = stage
    await ofComponent('shop', { ...SHOP, repositoryContext: REPOSITORY })
    const waiting = await cluster.waitUntil('installations', 'shop', (one) => waitOf(one)?.status === 'True')
    expect(waiting.status).toMatchObject({ phase: 'Init' })
    expect(waitOf(waiting)?.message).toBe(
      'waiting until Pawl creates Context "default-contexts/default" (--default-contexts)',
    )
    await cluster.create(installation('plain', [item({ name: 'a' })]), 'installations')
    expect((await cluster.waitUntilFinished('plain')).status).toMatchObject({ phase: 'Succeeded' })
    await cluster.create(
      { apiVersion: API, kind: 'Context', metadata: { name: 'default' }, configurations: { own: { a: 1 } } },
      'contexts',
    )
    const ended = await cluster.waitUntilFinished('shop')
    expect(ended.status).toMatchObject({ phase: 'Succeeded' })
    expect(waitOf(ended)?.status).toBe('False')
  })

  it('gets the configured repository and keeps all else, and is made again when it is gone; others get none', async () => {
    const { cluster, pawl } = stage
    await pawl.startWorker('contexts', undefined, ['--only', 'context'])
    const isWhole = (one: LsObject | undefined) => one?.['repositoryContext'] !== undefined
    const mended = await cluster.waitUntil('contexts', 'default', isWhole)
    expect(mended).toMatchObject({ repositoryContext: REPOSITORY, configurations: { own: { a: 1 } } })
    await cluster.delete('contexts', 'default')
    const isNew = (one: LsObject | undefined) => one !== undefined && one.metadata.uid !== mended.metadata.uid
    const made = await cluster.waitUntil('contexts', 'default', isNew)
    expect(made).toMatchObject({ repositoryContext: REPOSITORY })
    expect(made['configurations']).toBeUndefined()
    await ofComponent('again', SHOP)
    expect((await cluster.waitUntilFinished('again')).status).toMatchObject({ phase: 'Succeeded' })
    const elsewhere = `/apis/${API}/namespaces/kube-system/contexts`
    expect(await cluster.kube.request('GET', elsewhere)).toMatchObject({ items: [] })
  })
})
