// Versions, plurals and scopes of kinds that change while a worker has them cached.

import { describe, expect, inject, it } from 'vitest'

import { customKind } from '../activities/landscaper/deploy/manifest/ordinary-objects.ts'
import { useTargetStage } from '../activities/landscaper/deploy/manifest/target-stage.ts'

const stage = useTargetStage(inject('servers').kubeconfigPath, 'manifest-kinds')
const SLOWLY = { timeout: 30_000 }

type Definition = ReturnType<typeof customKind>['definition']

/** Serves v2 only; v1 is stored. */
function withoutV1(definition: Definition): Definition {
  const versions = definition.spec.versions.flatMap((first) => [
    { ...first, served: false },
    { ...first, name: 'v2', storage: false },
  ])
  return { ...definition, spec: { ...definition.spec, versions } }
}

/** A definition that another item deploys, and an object of it that this item has deployed, with its kind in the cache. */
async function deployed(plural: string, kind: string) {
  const { definition, resource } = customKind(plural, kind)
  const owner = stage.item(`${plural}-owner`).configure([definition])
  await owner.reconcile()
  const item = stage.item(plural).configure([resource('g', {}), stage.configMap(plural)])
  await expect.poll(async () => (await item.step('install')).result, SLOWLY).toBe('done')
  return { definition, owner, item, resource }
}

describe('an object whose version is not served any more', () => {
  it.each([
    ['its manifest is removed', 'dials', 'Dial', 'reconcile'],
    ['its item is deleted', 'knobs', 'Knob', 'uninstall'],
  ] as const)('is gone when %s, although the worker has its version cached', async (_, plural, kind, act) => {
    const { definition, owner, item } = await deployed(plural, kind)
    await owner.configure([withoutV1(definition)]).reconcile()
    const path = (version: string) => `/apis/${plural}.example/${version}`
    await expect.poll(() => stage.get(path('v1')), SLOWLY).toBeUndefined()
    await expect.poll(() => stage.get(`${path('v1')}/${plural}/g`), SLOWLY).toBeUndefined()
    await expect.poll(() => stage.get(`${path('v2')}/${plural}/g`), SLOWLY).toBeDefined()
    item.configure([stage.configMap(plural)])
    await item[act]()
    expect(await stage.get(`${path('v2')}/${plural}/g`)).toBeUndefined()
    await owner.uninstall()
  })
})

describe('a definition that was recreated', () => {
  it.each([
    ['another plural', 'levers', 'Lever', 'leverages', 'Cluster'],
    ['another scope', 'pedals', 'Pedal', 'pedals', 'Namespaced'],
  ])(
    'with %s gets its objects by the next look, although the worker has it cached',
    async (...[, plural, kind, next, scope]) => {
      const { definition, owner, item, resource } = await deployed(plural, kind)
      const group = definition.spec.group
      await owner.uninstall()
      const spec = { ...definition.spec, scope, names: { plural: next, kind } }
      const other = stage
        .item(`${next}-new`)
        .configure([{ ...definition, metadata: { name: `${next}.${group}` }, spec }])
      await other.reconcile()
      const isServed = async () => {
        const { resources = [] } = ((await stage.get(`/apis/${group}/v1`)) ?? {}) as { resources?: readonly object[] }
        return resources.some((one) => (one as { namespaced?: boolean }).namespaced === (scope === 'Namespaced'))
      }
      await expect.poll(isServed, SLOWLY).toBe(true)
      const object = resource('g', {})
      item.configure([{ ...object, metadata: { name: 'g', namespace: stage.namespace } }])
      expect(await item.step('install')).toMatchObject({ result: 'done' })
      await item.uninstall()
      await other.uninstall()
    },
  )
})
