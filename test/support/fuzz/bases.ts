// Objects that are as they should be, one of whose fields is then replaced. All of them meet a planted secret.

import type { JsonValue } from '../../../workflows/kit/index.ts'
import { API, blueprintOf, type Cluster, installation, item } from '../cluster/cluster.ts'
import {
  blob,
  BLUEPRINT_TYPE,
  descriptorV3,
  newRegistry,
  reference,
  type RegistryStage,
  tarOf,
} from '../registries/component-registry.ts'
import { configMap, dataObject, importingInstallation, secret, SHOW_IMPORTS, target } from '../landscaper/imports.ts'
import { configMap as deployedConfigMap, manifestItem, TARGET_TYPE as HERE_TYPE } from '../landscaper/manifests.ts'
import type { JsonObject } from './schema-fields.ts'

export const PLANTED = 'planted-6c1fe02b77'
const TARGET_TYPE = 'example.org/cluster'
const anything = (name: string) => ({ name, type: 'data', schema: {} })

/** Creates the objects that the bases import. */
export async function plant(cluster: Cluster): Promise<void> {
  await cluster.create(secret('given', { password: PLANTED }), 'secrets')
  await cluster.create(configMap('given', { password: PLANTED }), 'configmaps')
  await cluster.create(dataObject('given', { password: PLANTED }), 'dataobjects')
  await cluster.create(target('given', { type: TARGET_TYPE, config: { token: PLANTED } }), 'targets')
}

const [WHOLE, PART] = ['example.com/whole', 'example.com/part']
const REPOSITORY = { type: 'local', filePath: 'repo' }

/** A folder with the component of the bases, whose blueprint imports the secret and has a sub-installation of another component. */
export function plantedComponents(): RegistryStage {
  const archive = (blueprint: object) => tarOf({ 'blueprint.yaml': JSON.stringify(blueprint) })
  const part = (version: string) => ({
    [`repo/part-${version}/component-descriptor.yaml`]: JSON.stringify(
      descriptorV3(PART, version, { resources: [blob('blueprint', BLUEPRINT_TYPE)] }),
    ),
    [`repo/part-${version}/blobs/blueprint`]: archive(blueprintOf([{ name: 'part' }])),
  })
  const resources = [blob('blueprint', BLUEPRINT_TYPE)]
  const references = [reference('part', PART, '1.0.0')]
  const blueprint = {
    ...blueprintOf([]),
    imports: [anything('password')],
    deployExecutions: [SHOW_IMPORTS],
    subinstallations: [{ name: 'part', blueprint: { ref: 'cd://componentReferences/part/resources/blueprint' } }],
  }
  return newRegistry({
    ...part('1.0.0'),
    ...part('1.1.0'),
    'repo/whole/component-descriptor.yaml': JSON.stringify(descriptorV3(WHOLE, '1.0.0', { resources, references })),
    'repo/whole/blobs/blueprint': archive(blueprint),
  })
}

/** An Installation of the component, in a Context. */
async function install(cluster: Cluster, name: string, context: string): Promise<readonly [string, string]> {
  const spec = {
    context,
    componentDescriptor: { ref: { componentName: WHOLE, version: '1.0.0' } },
    blueprint: { ref: { resourceName: 'blueprint' } },
    imports: { data: [{ name: 'password', secretRef: { name: 'given', key: 'password' } }] },
  }
  await cluster.create({ ...installation(name, []), spec }, 'installations')
  return ['installations', name]
}

interface Base {
  /** Of kinds without a spec the fields of the object. */
  readonly spec: (name: string) => JsonObject
  /** Starts a job of the object. @returns plural and name of the object that says how it ended. */
  readonly run: (cluster: Cluster, name: string, jobID?: string) => Promise<readonly [plural: string, name: string]>
}

export const BASES = {
  Installation: {
    spec: installationSpec,
    run: async (cluster, name) => {
      await cluster.trigger(name)
      return ['installations', name]
    },
  },
  Execution: {
    spec: () => ({
      deployItems: asJson([
        item({ name: 'a', config: { export: { password: PLANTED } } }),
        item({ name: 'b', dependsOn: ['a'] }),
      ]),
    }),
    run: byJobID('executions'),
  },
  DeployItem: {
    spec: () => {
      const { type, config } = item({ name: 'a', config: { export: { password: PLANTED } } })
      return { type, config: asJson(config) }
    },
    run: byJobID('deployitems'),
  },
  Target: {
    spec: () => ({ type: HERE_TYPE, config: { selfConfig: { serviceAccount: { name: 'here' } } } }),
    run: async (cluster, name) => {
      const manifests = [deployedConfigMap(name, cluster.namespace, { password: PLANTED })]
      const spec = { deployItems: [manifestItem({ name: 'a', target: name, timeout: '15s', manifests })] }
      await cluster.create({ apiVersion: API, kind: 'Execution', metadata: { name }, spec }, 'executions')
      return await byJobID('executions')(cluster, name)
    },
  },
  Context: {
    spec: () => ({
      repositoryContext: REPOSITORY,
      configurations: { 'example.org/setting': { password: PLANTED } },
    }),
    run: async (cluster, name) => await install(cluster, name, name),
  },
  ComponentVersionOverwrites: {
    spec: () => ({
      overwrites: [
        {
          source: { repositoryContext: REPOSITORY, componentName: PART, version: '1.0.0' },
          substitution: { repositoryContext: REPOSITORY, componentName: PART, version: '1.1.0' },
        },
      ],
    }),
    run: async (cluster, name) => {
      const context = { repositoryContext: REPOSITORY, componentVersionOverwrites: name }
      await cluster.create({ apiVersion: API, kind: 'Context', metadata: { name }, ...context }, 'contexts')
      return await install(cluster, name, name)
    },
  },
  DataObject: {
    spec: () => ({ data: { password: PLANTED } }),
    run: async (cluster, name) => {
      const blueprint = { imports: [anything('value')] }
      const imports = [{ name: 'value', dataRef: name }]
      await cluster.create(importingInstallation(name, { imports, blueprint }), 'installations')
      return ['installations', name]
    },
  },
} as const satisfies Readonly<Record<string, Base>>

function byJobID(plural: string): Base['run'] {
  return async (cluster, name, jobID = `${name}-1`) => {
    await cluster.patch(plural, name, { status: { jobID } }, 'status')
    return [plural, name]
  }
}

function installationSpec(name: string): JsonObject {
  const template = `exports: { out: {{ toJson .values.deployitems }}, behind: { type: ${TARGET_TYPE}, config: { token: ${PLANTED} } } }`
  const { spec } = importingInstallation(name, {
    imports: [
      { name: 'password', secretRef: { name: 'given', key: 'password' } },
      { name: 'object', dataRef: 'given' },
      { name: 'config', configMapRef: { name: 'given' } },
    ],
    targets: [{ name: 'cluster', target: 'given' }],
    blueprint: {
      imports: [
        ...['password', 'object', 'config'].map(anything),
        { name: 'cluster', type: 'target', targetType: TARGET_TYPE },
      ],
      exports: [anything('out'), { name: 'behind', type: 'target', targetType: TARGET_TYPE }],
      exportExecutions: [{ name: 'out', type: 'GoTemplate', template }],
    },
    spec: {
      exports: {
        data: [{ name: 'out', dataRef: `${name}-out` }],
        targets: [{ name: 'behind', target: `${name}-behind` }],
      },
    },
  })
  return asJson(spec) as JsonObject
}

function asJson(value: unknown): JsonValue {
  return JSON.parse(JSON.stringify(value)) as JsonValue
}
