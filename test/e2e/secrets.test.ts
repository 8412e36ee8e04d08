// Tests that a planted secret does not appear in the journal, in histories, logs, statuses or Events, wherever users
// put the secret. Source: docs/concepts/architecture.md "Journal".

import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

import { execution, installation, type Item, type LsObject } from '../support/cluster/cluster.ts'
import {
  configMap,
  dataObject,
  importingInstallation,
  mockItems,
  renderedConfig,
  secret,
  target as targetObject,
} from '../support/landscaper/imports.ts'
import { eventsOf, historiesOf, journalOf, findLeaks, decodedTexts } from '../support/tenants/planted-secret.ts'
import { useStage } from '../support/pawl/stage.ts'

const CANARY = 'canary-9f27b6e04d'
// The blueprint computes the secret, because errors show words of the blueprint's author (render/engine/redact.ts R1).
const COMPUTED = '{{ printf `%s-%s` `canary` `9f27b6e04d` }}'
const TARGET_TYPE = 'landscaper.gardener.cloud/mock'

const stage = useStage('secrets', () => {
  vi.stubEnv('PAWL_LOG_LEVEL', 'debug')
  return Promise.resolve({})
})
afterAll(() => vi.unstubAllEnvs())

const exporting: Item = { name: 'app', config: { password: COMPUTED, export: { password: COMPUTED } } }
const password = '{{ index .values.deployitems "app" "password" }}'

/** An Installation whose export template uses the secret. */
function rendering(name: string, template: string, { type = 'string', spec = {} } = {}) {
  const exports = [{ name: 'password', type: 'data', schema: { type } }]
  const targets = [{ name: 'cluster', type: 'target', targetType: TARGET_TYPE }]
  const blueprint = {
    exports: [...exports, ...targets],
    exportExecutions: [{ name: 'out', type: 'GoTemplate', template }],
  }
  const data = [{ name: 'password', dataRef: `${name}-password` }]
  return installation(name, [exporting], { blueprint, spec: { exports: { data, ...spec } } })
}

/** An Installation that imports the secret from a Secret, a DataObject, a ConfigMap and Targets. */
function meeting(name: string, blueprint: object, spec: object = {}) {
  return importingInstallation(name, {
    imports: [
      { name: 'password', secretRef: { name: 'given', key: 'password' } },
      { name: 'entries', secretRef: { name: 'given' } },
      { name: 'object', dataRef: 'given' },
      { name: 'config', configMapRef: { name: 'given' } },
    ],
    targets: [
      { name: 'cluster', target: 'given' },
      { name: 'behind', targets: ['given-behind'] },
    ],
    blueprint,
    spec,
  })
}

const anything = (name: string, schema: object = {}) => ({ name, type: 'data', schema })
const imported = [
  ...['password', 'entries', 'object', 'config'].map((name) => anything(name)),
  { name: 'cluster', type: 'target', targetType: TARGET_TYPE },
  { name: 'behind', type: 'targetList', targetType: TARGET_TYPE },
]
const deploying = (type: string, template: unknown) => ({ deployExecutions: [{ name: 'items', type, template }] })
const items = JSON.stringify(mockItems('SHOWN'))

const target = `cluster: { type: ${TARGET_TYPE}, config: { kubeconfig: "${password}" } }`

// For each place of the secret: the user's Installation, and the phase in which its job ends.
const INSTALLATIONS: Readonly<Record<string, readonly [object, string]>> = {
  published: [
    rendering('published', `exports: { password: "${password}", ${target} }`, {
      spec: { targets: [{ name: 'cluster', target: 'published' }] },
    }),
    'Succeeded',
  ],
  'in-message': [
    rendering('in-message', 'exports: { password: {{ fail (index .values.deployitems "app" "password") }} }'),
    'Failed',
  ],
  'in-output': [rendering('in-output', `exports: { password: [ "${password}" }`), 'Failed'],
  'in-type': [rendering('in-type', `exports: { password: "${password}" }`, { type: 'integer' }), 'Failed'],
  'in-target': [
    rendering('in-target', `exports: { password: "${password}", cluster: "${password}" }`, {
      spec: { targets: [{ name: 'cluster', target: 'unwritten' }] },
    }),
    'Failed',
  ],
  imported: [
    meeting(
      'imported',
      {
        imports: imported,
        ...deploying(
          'GoTemplate',
          `state: { password: {{ .imports.password }} }\ndeployItems: ${items.replace('"SHOWN"', '{{ toJson .imports }}')}`,
        ),
      },
      { importDataMappings: { password: '(( password "" ))' } },
    ),
    'Succeeded',
  ],
  'import-of-type': [
    meeting('import-of-type', {
      imports: [
        anything('password', { type: 'integer' }),
        anything('object', { enum: ['a'] }),
        anything('config', { additionalProperties: false, properties: { password: { pattern: '^a$' } } }),
      ],
    }),
    'Failed',
  ],
  'import-of-text': [
    importingInstallation('import-of-text', { imports: [{ name: 'a', secretRef: { name: 'given-broken' } }] }),
    'Failed',
  ],
  'in-mapping': [
    meeting(
      'in-mapping',
      { imports: imported },
      { importDataMappings: { password: '(( password.nothing + object ))' } },
    ),
    'Failed',
  ],
  'in-spiff': [
    meeting('in-spiff', {
      imports: imported,
      ...deploying('Spiff', { deployItems: '(( imports.password.nothing imports.cluster + 1 ))' }),
    }),
    'Failed',
  ],
  'in-config': [
    meeting('in-config', {
      imports: imported,
      ...deploying('GoTemplate', 'deployItems: [ {{ .imports.password }}, {{ .imports.object }} ]'),
    }),
    'Failed',
  ],
  'in-phase': [installation('in-phase', [{ name: 'app', config: { phase: COMPUTED } }]), 'Failed'],
  'in-export': [installation('in-export', [{ name: 'app', config: { export: COMPUTED } }]), 'Failed'],
}

beforeAll(async () => {
  const { cluster } = stage
  await cluster.create(targetObject('given', { type: TARGET_TYPE, config: { token: CANARY } }), 'targets')
  await cluster.create(targetObject('given-behind', { type: TARGET_TYPE, secretRef: { name: 'given' } }), 'targets')
  await cluster.create(secret('given', { password: CANARY }), 'secrets')
  await cluster.create(secret('given-broken', { password: `[${CANARY}` }), 'secrets')
  await cluster.create(configMap('given', { password: CANARY }), 'configmaps')
  await cluster.create(dataObject('given', CANARY), 'dataobjects')
  for (const [object] of Object.values(INSTALLATIONS))
    await cluster.create(object as ReturnType<typeof installation>, 'installations')
  const packed = {
    ...execution('packed', []),
    spec: { deployItemsCompressed: gzipSync(`{"password": ${CANARY}`).toString('base64') },
  }
  await cluster.create(packed, 'executions')
  await cluster.patch('executions', 'packed', { status: { jobID: 'by-hand' } }, 'status')
})

describe('a planted secret', () => {
  it('is where users put it, and the jobs meet it', async () => {
    const { cluster } = stage
    const ends = await Promise.all(
      Object.keys(INSTALLATIONS).map(async (name) => [name, (await cluster.waitUntilFinished(name)).status?.phase]),
    )
    expect(Object.fromEntries(ends)).toEqual(
      Object.fromEntries(Object.entries(INSTALLATIONS).map(([name, [, phase]]) => [name, phase])),
    )
    const packed = await cluster.waitUntil(
      'executions',
      'packed',
      (object) => object?.status?.jobIDFinished === 'by-hand',
    )
    expect(packed.status?.lastError?.message).toBe(
      'spec.deployItemsCompressed holds no JSON; expected a gzipped JSON list of deploy items with name and type',
    )
    expect(await renderedConfig(cluster, 'imported', 'show')).toMatchObject({ password: CANARY, object: CANARY })
    expect((await cluster.get('dataobjects', 'published-password'))?.['data']).toBe(CANARY)
    expect((await cluster.get('targets', 'published'))?.spec).toEqual({
      type: TARGET_TYPE,
      config: { kubeconfig: CANARY },
    })
  })

  it('is in no row of the journal', async () => {
    const dump = await journalOf(stage.pawl)
    expect(dump).toContain('in-message')
    expect(findLeaks(dump, CANARY)).toEqual([])
  })

  it('is in no history and no details of a run', async () => {
    const { cluster, pawl } = stage
    const installations = Object.keys(INSTALLATIONS).length
    expect((await cluster.list('executions')).length).toBeGreaterThan(installations / 2)
    // Each Installation has a run, and so has the Execution `packed`.
    const dump = await historiesOf(pawl, cluster, installations + 1)
    expect(dump).toContain('in-message')
    expect(dump).toContain('TemplatingFailed')
    expect(findLeaks(dump, CANARY)).toEqual([])
  })

  it.each(['bridge', 'worker'])('is in no line that the %s logs', (part) => {
    const log = stage.pawl.log(part)
    expect(log).toContain('"level":30')
    expect(findLeaks(log, CANARY)).toEqual([])
  })

  it('is in no status and no Event', async () => {
    const { cluster } = stage
    const objects = await Promise.all(
      ['installations', 'executions', 'deployitems'].map((plural) => cluster.list(plural)),
    )
    const statuses = JSON.stringify(objects.flat().map(({ metadata, status }: LsObject) => [metadata.name, status]))
    expect(statuses).toContain('TemplatingFailed')
    expect(decodedTexts(statuses).join()).toContain('"password":"[string]"')
    expect(findLeaks(statuses, CANARY)).toEqual([])
    expect(findLeaks(JSON.stringify(await eventsOf(cluster)), CANARY)).toEqual([])
  })
})
