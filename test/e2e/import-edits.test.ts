// Imports from job to job, and edits of imports during a job. Source: spec/landscaper.md 2.3 "Init" 10 and "Completing", 3.6 "State".

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { dataObjectName, installationContext, stateSecretName } from '../../activities/landscaper/render/names.ts'
import { auditedWrites, auditMark } from '../support/cluster/audit-log.ts'
import { API, item, type LsObject } from '../support/cluster/cluster.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import {
  dataObject,
  importingInstallation,
  mockItems,
  renderedConfig,
  secret,
  target,
  TARGET_TYPE,
} from '../support/landscaper/imports.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('import-edits')
const HELD_TYPE = 'example.org/held'
const MANAGED_BY = 'execution.landscaper.gardener.cloud/managed-by'

/** Names of Executions whose items stay in Progressing. */
const held = new Set<string>()
let deployer: Deployer

beforeAll(() => {
  const isHeld = ({ metadata }: LsObject) => held.has(metadata.labels?.[MANAGED_BY] ?? '')
  deployer = Deployer.start(stage.cluster, HELD_TYPE, { install: (one) => (isHeld(one) ? 'wait' : 'done') })
})
afterAll(async () => {
  await deployer.stop()
})

const anything = (name: string, more: object = {}) => ({ name, type: 'data', schema: {}, ...more })
const copyOf = async (installation: string, name: string, plural = 'dataobjects') =>
  await stage.cluster.get(plural, dataObjectName(installationContext(installation), name))

/** Imports the data `<name>-size` and the target `<name>-cluster`, whose configuration is in the Secret `<name>-access`. */
function holding(name: string) {
  const deployItems = [item({ name: 'held', type: HELD_TYPE, config: { size: '{{ .imports.size }}' } })]
  return importingInstallation(name, {
    imports: [{ name: 'size', dataRef: `${name}-size` }],
    targets: [{ name: 'cluster', target: `${name}-cluster` }],
    blueprint: {
      imports: [anything('size'), { name: 'cluster', type: 'target', targetType: TARGET_TYPE }],
      deployExecutions: [{ name: 'items', type: 'GoTemplate', template: JSON.stringify({ deployItems }) }],
    },
  })
}

/** Starts the job and returns while its item is held. */
async function start(name: string): Promise<void> {
  const { cluster } = stage
  held.add(name)
  await cluster.create(dataObject(`${name}-size`, 1), 'dataobjects')
  await cluster.create(secret(`${name}-access`, { kubeconfig: 'a' }), 'secrets')
  const access = { type: TARGET_TYPE, secretRef: { name: `${name}-access` } }
  await cluster.create(target(`${name}-cluster`, access), 'targets')
  await cluster.create(holding(name), 'installations')
  await cluster.waitUntilItems(name, ['held'], (one) => one?.status?.phase === 'Progressing')
  await cluster.waitUntil('installations', name, (object) => object?.status?.phase === 'Progressing')
}

async function end(name: string): Promise<LsObject> {
  held.delete(name)
  return await stage.cluster.waitUntilFinished(name)
}

async function again(name: string, before: LsObject): Promise<LsObject> {
  await stage.cluster.trigger(name)
  return await stage.cluster.waitUntilFinished(name, before.status?.jobID)
}

describe.concurrent('a job that runs while', () => {
  const edits: readonly (readonly [string, (name: string) => Promise<unknown>, string])[] = [
    [
      'the secret behind its target is edited',
      async (name) => {
        const { kube, namespace } = stage.cluster
        const path = `/api/v1/namespaces/${namespace}/secrets/${name}-access`
        const body = { stringData: { kubeconfig: 'b' } }
        await kube.request('PATCH', path, { body, contentType: 'application/merge-patch+json' })
      },
      'CheckImportsHash',
    ],
    [
      'it is edited itself',
      async (name) => await stage.cluster.patch('installations', name, { spec: { importDataMappings: { size: 7 } } }),
      'CheckObservedGeneration',
    ],
  ]

  it.each(edits)('%s fails, and the next one succeeds', async (title, edit, reason) => {
    const name = title.replaceAll(' ', '-')
    await start(name)
    await edit(name)
    const failed = await end(name)
    expect(failed.status).toMatchObject({
      phase: 'Failed',
      lastError: { operation: 'handlePhaseCompleting', reason },
    })
    const next = await again(name, failed)
    expect(next.status).toMatchObject({ phase: 'Succeeded' })
    expect(next.status?.['importsHash'] === failed.status?.['importsHash']).toBe(reason !== 'CheckImportsHash')
  })

  it('its data is deleted fails, and the next job succeeds with new data', async () => {
    const { cluster } = stage
    await start('deleted')
    await cluster.delete('dataobjects', 'deleted-size')
    const failed = await end('deleted')
    expect(failed.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'ImportNotFound' } })
    await cluster.create(dataObject('deleted-size', 3), 'dataobjects')
    expect((await again('deleted', failed)).status).toMatchObject({ phase: 'Succeeded' })
    expect(await copyOf('deleted', 'size')).toMatchObject({ data: 3 })
  })

  it('labels of its imports change succeeds', async () => {
    const { cluster } = stage
    await start('labelled')
    const labels = { metadata: { labels: { seen: 'yes' } } }
    await cluster.patch('dataobjects', 'labelled-size', labels)
    await cluster.patch('targets', 'labelled-cluster', labels)
    expect((await end('labelled')).status).toMatchObject({ phase: 'Succeeded' })
  })
})

describe.concurrent('an installation that runs again', () => {
  it('deletes the copy of a removed import, and the hash with the last import', async () => {
    const { cluster } = stage
    for (const name of ['gone-a', 'gone-b']) await cluster.create(dataObject(name, name), 'dataobjects')
    await cluster.create(target('gone-t'), 'targets')
    const optional = { required: false }
    const there = { name: 't', type: 'target', targetType: TARGET_TYPE, ...optional }
    const blueprint = { imports: [anything('a', optional), anything('b', optional), there] }
    const both = ['a', 'b'].map((name) => ({ name, dataRef: `gone-${name}` }))
    const targets = [{ name: 't', target: 'gone-t' }]
    await cluster.create(importingInstallation('gone', { imports: both, targets, blueprint }), 'installations')
    const first = await cluster.waitUntilFinished('gone')
    const kept = await copyOf('gone', 'a')
    expect([kept?.['data'], (await copyOf('gone', 'b'))?.['data']]).toEqual(['gone-a', 'gone-b'])
    expect(await copyOf('gone', 't', 'targets')).toMatchObject({ spec: target('gone-t').spec })

    await cluster.patch('installations', 'gone', { spec: { imports: { data: both.slice(0, 1), targets: null } } })
    const second = await again('gone', first)
    expect(await renderedConfig(cluster, 'gone', 'show')).toEqual({ a: 'gone-a' })
    expect(await copyOf('gone', 'b')).toBeUndefined()
    expect(await copyOf('gone', 't', 'targets')).toBeUndefined()
    expect(await copyOf('gone', 'a')).toEqual(kept)

    await cluster.patch('installations', 'gone', { spec: { imports: null } })
    const third = await again('gone', second)
    expect(third.status).toMatchObject({ phase: 'Succeeded' })
    expect(third.status).not.toHaveProperty('importsHash')
    expect(await copyOf('gone', 'a')).toBeUndefined()
  })

  it('keeps the password that its template generated, until its state is deleted', async () => {
    const { cluster } = stage
    const template = `
{{- $password := .state.password | default (randAlphaNum 20) }}
state: { password: {{ $password }} }
deployItems: ${JSON.stringify(mockItems({ password: '{{ $password }}' }))}`
    const blueprint = { deployExecutions: [{ name: 'items', type: 'GoTemplate', template }] }
    await cluster.create(importingInstallation('stateful', { blueprint }), 'installations')
    const first = await cluster.waitUntilFinished('stateful')
    expect(first.status).toMatchObject({ phase: 'Succeeded' })
    const password = (await renderedConfig(cluster, 'stateful', 'show')) as { password: string }
    expect(password.password).toMatch(/^[A-Za-z0-9]{20}$/)

    const name = stateSecretName('stateful', 'deploy', 'items')
    const kept = await cluster.get('secrets', name, 'v1')
    const { config = '' } = kept?.['data'] as { config?: string }
    expect(JSON.parse(Buffer.from(config, 'base64').toString())).toEqual(password)
    expect(kept?.metadata.ownerReferences).toMatchObject([{ kind: 'Installation', name: 'stateful', controller: true }])

    const second = await again('stateful', first)
    expect(await renderedConfig(cluster, 'stateful', 'show')).toEqual(password)
    expect((await cluster.get('secrets', name, 'v1'))?.metadata.resourceVersion).toBe(kept?.metadata.resourceVersion)

    await cluster.kube.request('DELETE', `/api/v1/namespaces/${cluster.namespace}/secrets/${name}`)
    await again('stateful', second)
    expect(await renderedConfig(cluster, 'stateful', 'show')).not.toEqual(password)
  })

  it('keeps the state of a Spiff template', async () => {
    const { cluster } = stage
    const template = [
      'state:',
      '  <<<: (( &state ))',
      '  password: (( rand("[:alnum:]", 20) ))',
      `deployItems: ${JSON.stringify(mockItems({ password: '(( state.password ))' }))}`,
    ].join('\n')
    const blueprint = { deployExecutions: [{ name: 'items', type: 'Spiff', template }] }
    await cluster.create(importingInstallation('spiff-state', { blueprint }), 'installations')
    const first = await cluster.waitUntilFinished('spiff-state')
    expect(first.status).toMatchObject({ phase: 'Succeeded' })
    const password = (await renderedConfig(cluster, 'spiff-state', 'show')) as { password: string }
    expect(password.password).toMatch(/^[A-Za-z0-9]{20}$/)
    await again('spiff-state', first)
    expect(await renderedConfig(cluster, 'spiff-state', 'show')).toEqual(password)
  })
})

describe('the writes of an installation with imports', () => {
  it('are six plus one per import in the first job, six for the same imports, plus one per changed import', async () => {
    const { cluster, servers } = stage
    const names = ['budget-a', 'budget-b', 'budget-c']
    for (const name of names) await cluster.create(dataObject(name, name), 'dataobjects')
    const written = async (job: () => Promise<LsObject>) => {
      const mark = auditMark(servers.auditLogPath)
      const { status } = await job()
      expect(status).toMatchObject({ phase: 'Succeeded' })
      const writes = auditedWrites(servers.auditLogPath, mark, cluster.namespace)
      return writes.filter(({ writer }) => writer === 'installation').length
    }
    const imports = names.map((name) => ({ name, dataRef: name }))
    const root = importingInstallation('budget', {
      imports,
      blueprint: { imports: names.map((name) => anything(name)) },
    })
    let last: LsObject = { apiVersion: API, metadata: { name: 'budget' } }
    const first = await written(async () => {
      await cluster.create(root, 'installations')
      return (last = await cluster.waitUntilFinished('budget'))
    })
    const same = await written(async () => (last = await again('budget', last)))
    await cluster.patch('dataobjects', 'budget-b', { data: 'changed' })
    const changed = await written(async () => (last = await again('budget', last)))
    expect(first).toBeLessThanOrEqual(6 + names.length)
    expect(same).toBeLessThanOrEqual(6)
    expect(changed).toBeLessThanOrEqual(6 + 1)
  })
})
