// Blueprints with sub-installations, and the objects that Pawl creates from them.

import { vi } from 'vitest'
import { type Cluster, installation, item, type Item, type LsObject } from '../cluster/cluster.ts'

const ENCOMPASSED_BY = 'landscaper.gardener.cloud/encompassed-by'
const TEMPLATE = 'landscaper.gardener.cloud/subinstallation-name'

/** A template of a sub-installation with a blueprint in place. */
export function sub(name: string, { blueprint = {}, ...more }: Readonly<Record<string, object>> = {}) {
  return {
    apiVersion: 'landscaper.gardener.cloud/v1alpha1',
    kind: 'InstallationTemplate',
    name,
    blueprint: { filesystem: { 'blueprint.yaml': JSON.stringify(blueprint) } },
    ...more,
  }
}

/** Of a blueprint: executions that render these items. */
export function deploying(...items: readonly Item[]) {
  const template = JSON.stringify({ deployItems: items.map(item) })
  return { deployExecutions: [{ name: 'items', type: 'GoTemplate', template }] }
}

/** Of a blueprint: a data export that is rendered so. */
export function exportingData(name: string, template: string) {
  return {
    exports: [{ name, type: 'data', schema: {} }],
    exportExecutions: [{ name: 'exports', type: 'GoTemplate', template: `exports:\n  ${name}: ${template}` }],
  }
}

/** The sub-installations of an Installation, by the name of their template. */
export async function subsOf(cluster: Cluster, parent: string): Promise<ReadonlyMap<string, LsObject>> {
  const all = await cluster.list('installations')
  const own = all.filter(({ metadata }) => metadata.labels?.[ENCOMPASSED_BY] === parent)
  return new Map(own.map((one) => [one.metadata.annotations?.[TEMPLATE] ?? '', one]))
}

/** The sub-installation of a parent that has come of a template, once it is so. */
export async function untilSub(
  cluster: Cluster,
  parent: string,
  template: string,
  isSo: (one: LsObject) => boolean,
): Promise<LsObject> {
  return await vi.waitFor(
    async () => {
      const one = (await subsOf(cluster, parent)).get(template)
      if (one === undefined || !isSo(one))
        throw new Error(`${template} did not get there: ${JSON.stringify(one?.status)}`)
      return one
    },
    { timeout: 60_000, interval: 100 },
  )
}

/**
 * An installation `tree` with one below it and another one below that, whose first item has begun and is left so, and whose second one waits for it.
 *
 * @returns the names of the two that are below.
 */
export async function createSlowTree(
  cluster: Cluster,
  type: string,
): Promise<{ readonly outer: string; readonly inner: string }> {
  const inner = sub('inner', {
    blueprint: deploying({ name: 'begun', type }, { name: 'held', dependsOn: ['begun'] }),
  })
  const outer = sub('outer', { blueprint: { subinstallations: [inner] } })
  await cluster.create(installation('tree', [], { blueprint: { subinstallations: [outer] } }), 'installations')
  const { metadata } = await untilSub(cluster, 'tree', 'outer', ({ status }) => status?.phase === 'Progressing')
  const { metadata: low } = await untilSub(cluster, metadata.name, 'inner', () => true)
  await cluster.waitUntilItems(low.name, ['begun'], (item) => item?.status?.phase === 'Progressing')
  return { outer: metadata.name, inner: low.name }
}
