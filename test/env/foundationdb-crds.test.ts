// The validation of the CRDs of FoundationDB on a real API server, without a webhook. Source: spec/foundationdb.md 1.1 to 1.6.

import { readdir, readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { parse } from 'yaml'

import { resourcePath } from '../../activities/kube/resource-path.ts'
import { installCrds } from '../../worker/dev/pawl-parts.ts'
import { backupKind } from '../../workflows/foundationdb/backup/kind.ts'
import { backupProblems } from '../../workflows/foundationdb/backup/rules/spec.ts'
import { clusterKind } from '../../workflows/foundationdb/cluster/kind.ts'
import { clusterProblems } from '../../workflows/foundationdb/cluster/rules/spec.ts'
import { restoreKind } from '../../workflows/foundationdb/restore/kind.ts'
import { restoreProblems } from '../../workflows/foundationdb/restore/rules/spec.ts'
import { fieldsOf, type Kind } from '../../workflows/kit/index.ts'
import { Cluster } from '../support/cluster/cluster.ts'
import { HOSTILE_BACKUPS, HOSTILE_CLUSTERS } from '../support/foundationdb/hostile-specs.ts'
import { WebhookStage } from '../support/pawl/webhook.ts'
import { BACKUPS, CLUSTERS } from '../workflows/foundationdb/operator-manifests.ts'

const EXAMPLES = new URL('../../examples/foundationdb/', import.meta.url)
const cluster = new Cluster(inject('servers').kubeconfigPath, 'foundationdb-crds')
const { kube } = cluster

beforeAll(async () => {
  await cluster.createNamespace()
  await installCrds(inject('servers'), ['foundationdb'])
})
afterAll(() => kube.close())

const RULES = [
  { kind: clusterKind, problems: clusterProblems },
  { kind: backupKind, problems: backupProblems },
  { kind: restoreKind, problems: restoreProblems },
] as const

async function send(method: 'POST' | 'PUT', { apiVersion, plural }: Pick<Kind, 'apiVersion' | 'plural'>, body: object) {
  const name = method === 'PUT' ? String(fieldsOf(fieldsOf(body)['metadata'])['name']) : undefined
  return await kube
    .request(method, resourcePath({ apiVersion, plural }, cluster.namespace, name), {
      body,
      query: { dryRun: 'All', fieldValidation: 'Strict' },
    })
    .then(() => 'accepted', String)
}

const create = async ({ apiVersion, plural, kind }: Kind, spec: object) =>
  await send('POST', { apiVersion, plural }, { apiVersion, kind, metadata: { name: 'one' }, spec })

describe('the examples', () => {
  it('are accepted by the API server and by the rules', async () => {
    const files = await readdir(EXAMPLES)
    for (const file of files) {
      const object = parse(await readFile(new URL(file, EXAMPLES), 'utf8')) as { kind: string }
      const [one] = RULES.filter(({ kind }) => kind.kind === object.kind)
      if (one === undefined) throw new Error(`${file}: found kind ${object.kind}; expected a kind of FoundationDB`)
      expect([file, await send('POST', one.kind, object), [...one.problems(object)]]).toEqual([file, 'accepted', []])
    }
    expect(files.length).toBeGreaterThanOrEqual(3)
  })
})

describe('the CRDs of FoundationDB', () => {
  it.each(CLUSTERS)('accept a cluster as users of the Go operator write it: $name', async ({ spec }) => {
    expect(await create(clusterKind, spec)).toBe('accepted')
    expect(clusterProblems({ metadata: { name: 'one' }, spec })).toEqual([])
  })

  it.each(BACKUPS)('accept a backup as users of the Go operator write it: $name', async ({ spec }) => {
    expect(await create(backupKind, spec)).toBe('accepted')
    expect(backupProblems({ metadata: { name: 'one' }, spec })).toEqual([])
  })

  it.each<readonly [string, Kind, object]>([
    ['spec.version', clusterKind, { version: '7.1' }],
    [
      'spec.databaseConfiguration.redundancy_mode',
      clusterKind,
      { version: '7.1.67', databaseConfiguration: { redundancy_mode: 'quadruple' } },
    ],
    ['spec.processGroupIDPrefix', clusterKind, { version: '7.1.67', processGroupIDPrefix: 'a;b' }],
    ['spec.instanceIDPrefix', clusterKind, { version: '7.1.67', processGroupIDPrefix: 'a', instanceIDPrefix: 'b' }],
    ['spec.processCounts.storage', clusterKind, { version: '7.1.67', processCounts: { storage: -2 } }],
    [
      'spec.automationOptions.deletionMode',
      clusterKind,
      { version: '7.1.67', automationOptions: { deletionMode: 'Some' } },
    ],
    ['spec.blobStoreConfiguration', backupKind, { version: '7.1.67', clusterName: 'db' }],
    ['spec.agentCount', backupKind, { version: '7.1.67', clusterName: 'db', accountName: 'a', agentCount: -1 }],
    ['spec.blobStoreConfiguration', restoreKind, { destinationClusterName: 'db' }],
    [
      'spec.keyRanges[0].start',
      restoreKind,
      { destinationClusterName: 'db', backupURL: 'x', keyRanges: [{ start: 'a b', end: 'c' }] },
    ],
  ])('reject %s', async (field, kind, spec) => {
    expect(await create(kind, spec)).toContain(` is refused: ${field}: `)
  })

  it('reject another tag of an existing backup', async () => {
    const { apiVersion, plural, kind } = backupKind
    const spec = { version: '7.1.67', clusterName: 'db', accountName: 'a' }
    const body = { apiVersion, kind, metadata: { name: 'kept' }, spec }
    const path = resourcePath({ apiVersion, plural }, cluster.namespace)
    const { metadata } = await kube.request<{ metadata: object }>('POST', path, { body })
    const changed = (tag: string) => send('PUT', backupKind, { ...body, metadata, spec: { ...spec, tag } })
    expect(await changed('default')).toBe('accepted')
    expect(await changed('other')).toContain('spec.tag: Invalid value: expected the tag of the creation')
  })
})

describe('the webhook of FoundationDB', () => {
  it(
    'rejects hostile specs, which the schema alone accepts, and a good one is stored',
    { timeout: 240_000 },
    async () => {
      const stage = await WebhookStage.open(inject('servers'), 'foundationdb-webhook')
      onTestFinished(() => stage.close())
      await stage.start('one', ['--wings', 'foundationdb'])
      const answer = async ({ apiVersion, plural, kind }: Kind, spec: object) => {
        const body = { apiVersion, kind, metadata: { name: 'one' }, spec }
        const path = resourcePath({ apiVersion, plural }, stage.cluster.namespace)
        return await stage.cluster.kube.request('POST', path, { body, query: { dryRun: 'All' } }).then(() => '', String)
      }
      const backup = { version: '7.1.67', clusterName: 'db', blobStoreConfiguration: { accountName: 'a@host' } }
      const rows = [
        ...HOSTILE_CLUSTERS.map(([, field, spec]) => [field, clusterKind, { version: '7.1.67', ...spec }] as const),
        ...HOSTILE_BACKUPS.map(([, field, spec]) => [field, backupKind, { ...backup, ...spec }] as const),
      ]
      // API servers watch webhook configurations, so a new one takes effect later.
      const [[, , first]] = rows as [(typeof rows)[number]]
      await vi.waitFor(async () => expect(await answer(clusterKind, first)).not.toBe(''), { timeout: 60_000 })
      for (const [field, kind, spec] of rows) {
        expect(await create(kind, spec)).toBe('accepted')
        expect(await answer(kind, spec)).toContain(`denied the request: ${field}: found `)
      }
      expect([await answer(clusterKind, { version: '7.1.67' }), await answer(backupKind, backup)]).toEqual(['', ''])
    },
  )
})
