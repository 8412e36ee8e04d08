// A planted secret: wherever users put values, none of them may come out in the journal, in histories, logs, statuses or Events.
// Source: design.md "Journal" ("never reach journal, history, logs or error texts").

import { gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it, vi } from 'vitest'

import type { KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { API, type Cluster, execution, installation, type Item, type LsObject } from '../support/cluster.ts'
import type { Pawl } from '../support/pawl.ts'
import { useStage } from '../support/stage.ts'

const CANARY = 'canary-9f27b6e04d'
// A blueprint computes it: words that its author wrote are shown in the lines around a fault (render/redact.ts R1).
const COMPUTED = '{{ printf `%s-%s` `canary` `9f27b6e04d` }}'
// As it may look inside of base64, whatever stands before it.
const FORMS = [
  CANARY,
  ...[0, 1, 2].map((shift) =>
    Buffer.from('x'.repeat(shift) + CANARY)
      .toString('base64')
      .slice(4, 16),
  ),
]
const TARGET_TYPE = 'landscaper.gardener.cloud/mock'

const stage = useStage('secrets', () => {
  vi.stubEnv('PAWL_LOG_LEVEL', 'debug')
  return Promise.resolve({})
})

const exporting: Item = { name: 'app', config: { password: COMPUTED, export: { password: COMPUTED } } }
const password = '{{ index .values.deployitems "app" "password" }}'

/** An Installation whose export template meets the secret. */
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

const target = `cluster: { type: ${TARGET_TYPE}, config: { kubeconfig: "${password}" } }`

// By the place of the secret: what the user makes, and how the job ends.
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
  'in-phase': [installation('in-phase', [{ name: 'app', config: { phase: COMPUTED } }]), 'Failed'],
  'in-export': [installation('in-export', [{ name: 'app', config: { export: COMPUTED } }]), 'Failed'],
}

beforeAll(async () => {
  const { cluster } = stage
  await cluster.create(
    {
      apiVersion: API,
      kind: 'Target',
      metadata: { name: 'given' },
      spec: { type: TARGET_TYPE, config: { token: CANARY } },
    },
    'targets',
  )
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
      Object.keys(INSTALLATIONS).map(async (name) => [name, (await cluster.finished(name)).status?.phase]),
    )
    expect(Object.fromEntries(ends)).toEqual(
      Object.fromEntries(Object.entries(INSTALLATIONS).map(([name, [, phase]]) => [name, phase])),
    )
    const packed = await cluster.until('executions', 'packed', (object) => object?.status?.jobIDFinished === 'by-hand')
    expect(packed.status?.lastError?.message).toBe(
      'spec.deployItemsCompressed holds no JSON; expected a gzipped JSON list of deploy items with name and type',
    )
    expect((await cluster.get('dataobjects', 'published-password'))?.['data']).toBe(CANARY)
    expect((await cluster.get('targets', 'published'))?.spec).toEqual({
      type: TARGET_TYPE,
      config: { kubeconfig: CANARY },
    })
  })

  it('is in no row of the journal', async () => {
    const dump = await journalOf(stage.pawl)
    expect(dump).toContain('in-message')
    expect(leaks(dump)).toEqual([])
  })

  it('is in no history and no details of a run', async () => {
    const dump = await historiesOf(stage.pawl)
    expect(dump).toContain('in-message')
    expect(dump).toContain('TemplatingFailed')
    expect(leaks(dump)).toEqual([])
  })

  it.each(['bridge', 'worker'])('is in no line that the %s logs', (part) => {
    const log = stage.pawl.log(part)
    expect(log).toContain('"level":30')
    expect(leaks(log)).toEqual([])
  })

  it('is in no status and no Event', async () => {
    const { cluster } = stage
    const objects = await Promise.all(
      ['installations', 'executions', 'deployitems'].map((plural) => cluster.list(plural)),
    )
    const statuses = JSON.stringify(objects.flat().map(({ metadata, status }: LsObject) => [metadata.name, status]))
    expect(statuses).toContain('TemplatingFailed')
    expect(leaks(statuses)).toEqual([])
    expect(leaks(JSON.stringify(await eventsOf(cluster)))).toEqual([])
  })
})

/** The places where a form of the secret stands, with what is around it. */
function leaks(text: string): string[] {
  return FORMS.flatMap((form) => {
    const at = text.indexOf(form)
    return at < 0 ? [] : [text.slice(Math.max(0, at - 300), at + 100)]
  })
}

async function journalOf({ db }: Pawl): Promise<string> {
  const tables = await sql<{
    name: string
  }>`select tablename as name from pg_tables where schemaname = 'public'`.execute(db)
  const dumps = await Promise.all(
    tables.rows.map(({ name }) =>
      sql<{ row: string }>`select to_jsonb(t)::text as row from ${sql.id(name)} t`.execute(db),
    ),
  )
  return dumps.flatMap(({ rows }) => rows.map(({ row }) => row)).join('\n')
}

async function historiesOf({ client }: Pawl): Promise<string> {
  const dumps: string[] = []
  for await (const { workflowId, runId } of client.workflow.list({ query: `PawlNamespace = 'secrets'` })) {
    const handle = client.workflow.getHandle(workflowId, runId)
    dumps.push(text(await handle.fetchHistory()), text(await handle.query('__temporal_workflow_metadata')))
  }
  expect(dumps.length).toBeGreaterThanOrEqual(2 * 3 * Object.keys(INSTALLATIONS).length)
  return dumps.join('\n')
}

/** JSON with the bytes of payloads as text. */
function text(value: unknown): string {
  return JSON.stringify(value, (_, one: unknown) =>
    one instanceof Uint8Array ? Buffer.from(one).toString('utf8') : one,
  )
}

async function eventsOf({ kube, namespace }: Cluster): Promise<readonly KubeObject[]> {
  return (await kube.request<ObjectList>('GET', `/api/v1/namespaces/${namespace}/events`)).items
}
