// Jobs of Installations with imports and exports. Their histories contain results, not the imported data.

import { type Cluster, item, type LsObject, waitingItem } from '../../support/cluster/cluster.ts'
import { dataObject, importingInstallation, mockItems, target, TARGET_TYPE } from '../../support/landscaper/imports.ts'
import { type RunKind, type Scenarios, SECRET, startedItem } from './scenario.ts'

const kinds: readonly RunKind[] = ['installation']
const text = (name: string, schema: object = { type: 'string' }) => ({ name, type: 'data', schema })

export const importScenarios: Scenarios = {
  imports: {
    kinds,
    async play({ cluster }, name) {
      await createSources(cluster, name)
      const cluster2 = { name: 'cluster', target: name }
      const imports = [text('size'), { name: 'cluster', type: 'target', targetType: TARGET_TYPE }]
      return await run(
        cluster,
        importingInstallation(name, {
          imports: [{ name: 'size', dataRef: name }],
          targets: [cluster2],
          blueprint: { imports },
        }),
      )
    },
  },
  // A second job: one import has another value.
  'imports-second-job': {
    kinds,
    async play({ cluster }, name) {
      await createSources(cluster, name)
      const imports = [{ name: 'size', dataRef: name }]
      const first = await run(cluster, importingInstallation(name, { imports, blueprint: { imports: [text('size')] } }))
      await cluster.patch('dataobjects', name, { data: `${SECRET}-2` })
      await cluster.trigger(name)
      return await cluster.waitUntilFinished(name, first.status?.jobID)
    },
  },
  'imports-changed': {
    kinds,
    play: async ({ cluster }, name) =>
      await edited(cluster, name, () => cluster.patch('dataobjects', name, { data: `${SECRET}-2` })),
  },
  edited: {
    kinds,
    play: async ({ cluster }, name) =>
      await edited(cluster, name, () =>
        cluster.patch('installations', name, { spec: { importDataMappings: { size: SECRET } } }),
      ),
  },
  'import-missing': {
    kinds,
    async play({ cluster }, name) {
      const imports = [{ name: 'size', dataRef: name }]
      return await run(cluster, importingInstallation(name, { imports, blueprint: { imports: [text('size')] } }))
    },
  },
  'import-schema': {
    kinds,
    async play({ cluster }, name) {
      await createSources(cluster, name)
      const imports = [{ name: 'size', dataRef: name }]
      return await run(
        cluster,
        importingInstallation(name, { imports, blueprint: { imports: [text('size', { type: 'integer' })] } }),
      )
    },
  },
  // A second job that finds what the template of the first one made.
  state: {
    kinds,
    async play({ cluster }, name) {
      const template = `
{{- $password := .state.password | default "${SECRET}" }}
state: { password: {{ $password }} }
deployItems: ${JSON.stringify(mockItems({ password: '{{ $password }}' }))}`
      const blueprint = { deployExecutions: [{ name: 'items', type: 'GoTemplate', template }] }
      const first = await run(cluster, importingInstallation(name, { blueprint }))
      await cluster.trigger(name)
      return await cluster.waitUntilFinished(name, first.status?.jobID)
    },
  },
  exports: {
    kinds,
    async play({ cluster }, name) {
      await createSources(cluster, name)
      const template = 'exports:\n  size: {{ .imports.size }}\n  cluster: {{ toJson .targets.cluster.spec }}'
      const cluster2 = { name: 'cluster', type: 'target', targetType: TARGET_TYPE }
      return await run(
        cluster,
        importingInstallation(name, {
          imports: [{ name: 'size', dataRef: name }],
          targets: [{ name: 'cluster', target: name }],
          blueprint: {
            imports: [text('size'), cluster2],
            exports: [text('size'), cluster2],
            exportExecutions: [{ name: 'out', type: 'GoTemplate', template }],
          },
          spec: {
            exports: {
              data: [
                { name: 'size', dataRef: `${name}-size` },
                { name: 'mapped', dataRef: `${name}-mapped` },
              ],
              targets: [{ name: 'cluster', target: `${name}-cluster` }],
            },
            exportDataMappings: { mapped: '(( size "!" ))' },
          },
        }),
      )
    },
  },
  'export-schema': {
    kinds,
    async play({ cluster }, name) {
      const template = `exports:\n  size: ${SECRET}`
      return await run(
        cluster,
        importingInstallation(name, {
          blueprint: {
            exports: [text('size', { type: 'integer' })],
            exportExecutions: [{ name: 'out', type: 'GoTemplate', template }],
          },
          spec: { exports: { data: [{ name: 'size', dataRef: `${name}-size` }] } },
        }),
      )
    },
  },
}

/** A DataObject and a Target of this name. */
async function createSources(cluster: Cluster, name: string): Promise<void> {
  await cluster.create(dataObject(name, SECRET), 'dataobjects')
  await cluster.create(target(name, { type: TARGET_TYPE, config: { token: SECRET } }), 'targets')
}

async function run(cluster: Cluster, root: ReturnType<typeof importingInstallation>): Promise<LsObject> {
  await cluster.create(root, 'installations')
  return await cluster.waitUntilFinished(root.metadata.name)
}

/** Something happens while the item of an importing Installation runs. */
async function edited(cluster: Cluster, name: string, edit: () => Promise<unknown>): Promise<LsObject> {
  await createSources(cluster, name)
  const template = JSON.stringify({ deployItems: [item(waitingItem('slow'))] })
  await cluster.create(
    importingInstallation(name, {
      imports: [{ name: 'size', dataRef: name }],
      blueprint: {
        imports: [text('size')],
        deployExecutions: [{ name: 'items', type: 'GoTemplate', template }],
      },
    }),
    'installations',
  )
  const slow = await startedItem(cluster, name, 'slow')
  await edit()
  await cluster.finishItem(slow, 'Succeeded')
  return await cluster.waitUntilFinished(name)
}
