// Imports of Installations: from DataObjects, Secrets, ConfigMaps and Targets, through mappings and defaults, into their deploy items.
// Source: spec/landscaper.md 1.2, 1.13, 1.15, 2.3 "Init" and "Completing", 3.3, 3.9, 3.10.

import { beforeAll, describe, expect, it } from 'vitest'
import { dataObjectName, elementName, installationContext } from '../../activities/landscaper/render/names.ts'
import { type LsObject } from '../support/cluster/cluster.ts'
import {
  configMap,
  dataObject,
  importingInstallation,
  mockItems,
  renderedConfig,
  secret,
  target,
  TARGET_TYPE,
} from '../support/landscaper/imports.ts'
import { useStage } from '../support/pawl/stage.ts'
import { conditionOf } from '../support/cluster/kstatus.ts'

const stage = useStage('imports')

async function create(...objects: readonly (readonly [string, Parameters<typeof stage.cluster.create>[0]])[]) {
  for (const [plural, object] of objects) await stage.cluster.create(object, plural)
}

async function run(root: ReturnType<typeof importingInstallation>): Promise<LsObject> {
  await stage.cluster.create(root, 'installations')
  return await stage.cluster.waitUntilFinished(root.metadata.name)
}

/** Returns the imports that the item `show` of an Installation received. */
const shown = async (name: string) => await renderedConfig(stage.cluster, name, 'show')

const copy = async (plural: string, installation: string, name: string) =>
  await stage.cluster.get(plural, dataObjectName(installationContext(installation), name))

const data = (name: string, schema: object = {}, more: object = {}) => ({ name, type: 'data', schema, ...more })

describe.concurrent('an installation that imports data', () => {
  it('reads every source, parses text as YAML, and writes copies of the imports', async () => {
    await create(
      ['dataobjects', dataObject('sources-size', { cpu: 2, zones: ['a', 'b'] })],
      ['secrets', secret('sources-secret', { port: '8080', user: 'name: app\n' })],
      ['configmaps', configMap('sources-config', { enabled: 'yes', list: '[1, 2]', text: 'plain' })],
    )
    const root = await run(
      importingInstallation('sources', {
        imports: [
          { name: 'size', dataRef: 'sources-size' },
          { name: 'port', secretRef: { name: 'sources-secret', key: 'port' } },
          { name: 'secret', secretRef: { name: 'sources-secret' } },
          { name: 'text', configMapRef: { name: 'sources-config', key: 'text' } },
          { name: 'config', configMapRef: { name: 'sources-config' } },
        ],
        blueprint: {
          imports: [
            data('size', { type: 'object' }),
            data('port', { type: 'integer' }),
            data('secret', { type: 'object' }),
            data('text', { type: 'string' }),
            data('config', { type: 'object' }),
          ],
        },
      }),
    )
    expect(root.status).toMatchObject({ phase: 'Succeeded' })
    const values = {
      size: { cpu: 2, zones: ['a', 'b'] },
      port: 8080,
      secret: { port: 8080, user: { name: 'app' } },
      text: 'plain',
      config: { enabled: true, list: [1, 2], text: 'plain' },
    }
    expect(await shown('sources')).toEqual(values)
    const copies = await Promise.all(
      Object.keys(values).map(async (name) => [name, await copy('dataobjects', 'sources', name)] as const),
    )
    expect(Object.fromEntries(copies.map(([name, one]) => [name, one?.['data']]))).toEqual(values)
    expect(copies[0]?.[1]?.metadata).toMatchObject({
      labels: {
        'data.landscaper.gardener.cloud/context': 'Inst.sources',
        'data.landscaper.gardener.cloud/sourceType': 'import',
        'data.landscaper.gardener.cloud/key': 'size',
        'data.landscaper.gardener.cloud/jobid': root.status?.jobID,
      },
      ownerReferences: [{ kind: 'Installation', name: 'sources', uid: root.metadata.uid, controller: true }],
    })
    expect(root.status?.['importsHash']).toMatch(/^[0-9a-f]{40}$/)
  })

  it('prefers mappings to imports and imports to defaults, and skips conditional imports without their parent', async () => {
    await create(['dataobjects', dataObject('order-a', 'given')], ['dataobjects', dataObject('order-b', 'given')])
    const text = { type: 'string' }
    const fallback = { required: false, default: { value: 'default' } }
    const root = await run(
      importingInstallation('order', {
        imports: [
          { name: 'mapped', dataRef: 'order-a' },
          { name: 'given', dataRef: 'order-b' },
          { name: 'unused', dataRef: 'order-b' },
        ],
        blueprint: {
          imports: [
            data('mapped', text, fallback),
            data('given', text, fallback),
            data('defaulted', text, fallback),
            data('constant', { type: 'integer' }),
            data('absent', text, { required: false, imports: [data('below', text)] }),
            data('present', text, { ...fallback, imports: [data('inner', text, fallback)] }),
          ],
        },
        spec: { importDataMappings: { mapped: '(( given "-" mapped ))', constant: 7 } },
      }),
    )
    expect(root.status).toMatchObject({ phase: 'Succeeded' })
    const expected = { mapped: 'given-given', given: 'given', defaulted: 'default', constant: 7 }
    expect(await shown('order')).toEqual({ ...expected, present: 'default', inner: 'default' })
  })

  it('can import two hundred objects', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `many-${index}`)
    await create(...names.map((name, index) => ['dataobjects', dataObject(name, index)] as const))
    const imports = names.map((name) => ({ name, dataRef: name }))
    const blueprint = { imports: names.map((name) => data(name, { type: 'integer' })) }
    const root = await run(importingInstallation('many', { imports, blueprint }))
    expect(root.status).toMatchObject({ phase: 'Succeeded' })
    expect(await shown('many')).toEqual(Object.fromEntries(names.map((name, index) => [name, index])))
    expect(await copy('dataobjects', 'many', 'many-199')).toMatchObject({ data: 199 })
  })
})

describe.concurrent('an installation that imports targets', () => {
  it('deploys to the targets by import, index and key, and writes copies of the imports', async () => {
    const { cluster } = stage
    await create(...['one', 'two', 'three'].map((name) => ['targets', target(`on-${name}`)] as const))
    const item = (name: string, reference: object) => ({ ...mockItems({}, name)[0], target: reference })
    const deployItems = [
      item('single', { import: 'cluster' }),
      item('element', { import: 'clusters', index: 1 }),
      item('keyed', { import: 'stages', key: 'prod' }),
    ]
    const of = (name: string, type: string) => ({ name, type, targetType: TARGET_TYPE })
    const root = await run(
      importingInstallation('targets', {
        targets: [
          { name: 'cluster', target: 'on-one' },
          { name: 'clusters', targets: ['on-two', '#on-three'] },
          { name: 'stages', targetMap: { dev: 'on-one', prod: 'on-two' } },
        ],
        blueprint: {
          imports: [of('cluster', 'target'), of('clusters', 'targetList'), of('stages', 'targetMap')],
          deployExecutions: [
            { name: 'items', type: 'GoTemplate', template: JSON.stringify({ deployItems }) },
            {
              name: 'show',
              type: 'GoTemplate',
              template: `deployItems: [{ name: show, type: landscaper.gardener.cloud/mock, config: {
                apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, export: {
                  token: {{ .imports.cluster.spec.config.token }}, second: {{ (index .imports.clusters 1).metadata.name }},
                  prod: {{ .imports.stages.prod.metadata.name }} } } }]`,
            },
          ],
        },
      }),
    )
    expect(root.status).toMatchObject({ phase: 'Succeeded' })
    const items = await cluster.items('targets')
    const targetOf = (name: string) => items.get(name)?.spec?.['target']
    expect([targetOf('single'), targetOf('element'), targetOf('keyed')]).toEqual([
      { name: 'on-one', namespace: 'imports' },
      { name: 'on-three', namespace: 'imports' },
      { name: 'on-two', namespace: 'imports' },
    ])
    expect(await shown('targets')).toEqual({ token: 't-on-one', second: 'on-three', prod: 'on-two' })
    const element = await copy('targets', 'targets', elementName('clusters', 1))
    expect(element).toMatchObject({ spec: { type: TARGET_TYPE, config: { token: 't-on-three' } } })
    expect(element?.metadata.labels).toMatchObject({
      'data.landscaper.gardener.cloud/key': 'clusters',
      'data.landscaper.gardener.cloud/index': '1',
    })
    const keyed = await copy('targets', 'targets', elementName('stages', 'prod'))
    expect(keyed?.metadata.labels).toMatchObject({ 'data.landscaper.gardener.cloud/targetmapkey': 'prod' })
  })
})

describe.concurrent('an import that cannot be used', () => {
  const one = (more: object) => ({ imports: [{ name: 'size', ...more }] })
  const cases: readonly (readonly [string, Parameters<typeof importingInstallation>[1], string, string])[] = [
    [
      'names a missing secret',
      one({ secretRef: { name: 'nowhere', key: 'k' } }),
      'ImportNotFound',
      'spec.imports.data[0] "size": found no Secret imports/nowhere',
    ],
    [
      'is not YAML',
      one({ secretRef: { name: 'refused-secret', key: 'broken' } }),
      'ERR_CONFIGURATION_PROBLEM',
      'spec.imports.data[0] "size": Secret imports/refused-secret: key broken is no YAML: line 1, column',
    ],
    [
      'does not match the schema',
      { ...one({ dataRef: 'refused-size' }), blueprint: { imports: [data('size', { type: 'string' })] } },
      'SchemaValidationFailed',
      'import size',
    ],
  ]

  beforeAll(async () => {
    await create(
      ['dataobjects', dataObject('refused-size', 5)],
      ['secrets', secret('refused-secret', { broken: '[1' })],
      ['targets', target('refused-target')],
    )
  })

  it.each(cases)('fails the job when it %s', async (title, given, reason, message) => {
    const { cluster } = stage
    const name = `refused-${title.toLowerCase().replaceAll(' ', '-')}`
    const failed = await run(importingInstallation(name, given))
    expect(failed.status).toMatchObject({
      phase: 'Failed',
      lastError: { operation: 'handlePhaseInit', reason },
    })
    expect(conditionOf(failed, 'ValidateImports')).toMatchObject({ status: 'False', reason: 'ImportValidationFailed' })
    expect(failed.status?.lastError?.message).toContain(message)
    expect(await cluster.get('executions', name)).toBeUndefined()
  })

  it('fails the job with the errors of an import execution, which adds bindings once the imports are valid', async () => {
    const { cluster } = stage
    const template = [
      'errors:',
      '{{ if lt .imports.size 3.0 }}- size {{ .imports.size }} is too small',
      '- choose 3 or more{{ end }}',
      'bindings: { double: {{ mul 2 .imports.size }} }',
    ].join('\n')
    const importExecutions = [{ name: 'check', type: 'GoTemplate', template }]
    const imports = [{ name: 'size', dataRef: 'checked' }]
    await create(['dataobjects', dataObject('checked', 1)])
    const failed = await run(
      importingInstallation('checked', { imports, blueprint: { imports: [data('size')], importExecutions } }),
    )
    expect(failed.status).toMatchObject({
      phase: 'Failed',
      lastError: {
        operation: 'handlePhaseInit',
        reason: 'ImportExecutionFailed',
        message: 'import execution check: size 1 is too small; choose 3 or more',
      },
    })
    expect(conditionOf(failed, 'ValidateImports')).toMatchObject({ status: 'False', reason: 'ImportValidationFailed' })
    expect(await cluster.get('executions', 'checked')).toBeUndefined()
    await cluster.patch('dataobjects', 'checked', { data: 4 })
    await cluster.trigger('checked')
    const mended = await cluster.waitUntilFinished('checked', failed.status?.jobID)
    expect(mended.status).toMatchObject({ phase: 'Succeeded' })
    expect(conditionOf(mended, 'ValidateImports')).toMatchObject({ status: 'True' })
    expect(await renderedConfig(cluster, 'checked', 'show')).toEqual({ size: 4, double: 8 })
  })
})
