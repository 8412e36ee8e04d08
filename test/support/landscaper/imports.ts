// Objects for tests of imports: importable objects, and Installations whose items contain the imported values.

import { API, type Cluster, installation, item } from '../cluster/cluster.ts'

export const TARGET_TYPE = 'example.org/cluster'

export function dataObject(name: string, data: unknown) {
  return { apiVersion: API, kind: 'DataObject', metadata: { name }, data }
}

export function secret(name: string, stringData: Readonly<Record<string, string>>) {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData }
}

export function configMap(name: string, data: Readonly<Record<string, string>>) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data }
}

export function target(name: string, spec: object = { type: TARGET_TYPE, config: { token: `t-${name}` } }) {
  return { apiVersion: API, kind: 'Target', metadata: { name }, spec }
}

/** A list of one mock item, which exports the value `show`. */
export function mockItems(show: unknown, name = 'show') {
  return [item({ name, config: { export: show } })]
}

/** A deploy execution whose mock item exports all imports unchanged. */
export const SHOW_IMPORTS = {
  name: 'items',
  type: 'GoTemplate',
  template: JSON.stringify({ deployItems: mockItems('IMPORTS') }).replace('"IMPORTS"', '{{ toJson .imports }}'),
}

export interface Imports {
  readonly imports?: readonly object[]
  readonly targets?: readonly object[]
  readonly blueprint?: object
  readonly spec?: object
}

/** A root Installation whose item `show` exports all imports. `blueprint` can replace this item. */
export function importingInstallation(
  name: string,
  { imports = [], targets = [], blueprint = {}, spec = {} }: Imports,
) {
  return installation(name, [], {
    blueprint: { deployExecutions: [SHOW_IMPORTS], ...blueprint },
    spec: { imports: { data: imports, targets }, ...spec },
  })
}

/** The imported values in the configuration of an item. */
export async function renderedConfig(cluster: Cluster, execution: string, name: string): Promise<unknown> {
  const config = (await cluster.items(execution)).get(name)?.spec?.['config'] as { export?: unknown } | undefined
  return config?.export
}
