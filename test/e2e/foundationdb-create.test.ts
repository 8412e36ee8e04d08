// A FoundationDBCluster from its creation to a database that keeps data, and its deletion, with the production controller, node agent and tools.

import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { describe, expect, it } from 'vitest'

import type { ObjectList } from '../../activities/kube/client.ts'
import { GROUP, VERSION } from '../../workflows/foundationdb/contract.ts'
import { runningProcesses, untilNothingRuns } from '../support/foundationdb/agent-processes.ts'
import { useDatabases } from '../support/foundationdb/clusters.ts'

const databases = useDatabases('foundationdb-create', ['shop'])
const shop = () => databases.of('shop')
const MANIFEST = new URL('../../examples/foundationdb/cluster.yaml', import.meta.url)
const NAME = 'sample'

const versions = (objects: readonly { readonly metadata: { readonly resourceVersion?: string } }[]) =>
  objects.map(({ metadata: { resourceVersion } }) => resourceVersion)

/** Sets a field to its default, or removes it, so only the generation changes. Returns the reconciled cluster. */
async function reconcileAgain() {
  const { metadata, spec } = await shop().get(NAME)
  const killProcesses = spec.automationOptions?.killProcesses === true ? null : true
  await shop().cluster.kube.request('PATCH', shop().path('foundationdbclusters', NAME, `${GROUP}/${VERSION}`), {
    body: { spec: { automationOptions: { killProcesses } } },
    contentType: 'application/merge-patch+json',
  })
  const reconciled = await shop().untilReconciled(NAME)
  expect(reconciled.metadata['generation']).toBe(metadata['generation'] + 1)
  return reconciled
}

describe('a FoundationDBCluster of five processes', () => {
  it(
    'F1: becomes reconciled and available, with one pod and one claim for each process',
    { timeout: 180_000 },
    async () => {
      await shop().create(parse(readFileSync(MANIFEST, 'utf8')) as object)
      const cluster = await shop().untilReconciled(NAME)
      const pods = await shop().objects('pods', NAME)
      expect(pods.map(({ metadata: { name } }) => name.replace(/\d+$/, 'N')).sort()).toEqual([
        ...['sample-log-N', 'sample-log-N', 'sample-storage-N', 'sample-storage-N', 'sample-storage-N'],
      ])
      expect(await shop().objects('persistentvolumeclaims', NAME)).toHaveLength(5)
      expect(cluster.status?.connectionString).toMatch(/^sample:\w+@(?:127\.\d+\.\d+\.\d+:4501,?){3}$/)
      const addresses = new Set(pods.map((pod) => (pod['status'] as { readonly podIP: string }).podIP))
      expect(addresses.size).toBe(5)
      const query = { fieldSelector: 'reason=ConfiguringDatabase' }
      const { items } = await shop().cluster.kube.request<ObjectList>('GET', shop().path('events'), { query })
      expect(items.map((event) => event['count'] ?? 1)).toEqual([1])
    },
  )

  it(
    'F2: changes no object of the cluster when it reconciles a spec with the same meaning',
    { timeout: 120_000 },
    async () => {
      const kinds = ['pods', 'persistentvolumeclaims', 'configmaps']
      const state = async () =>
        (await Promise.all(kinds.map(async (kind) => versions(await shop().objects(kind, NAME))))).flat()
      // The first data movement of the database ends after the pass that created it.
      for (let isHealthy = false; !isHealthy; isHealthy = (await reconcileAgain()).status?.health?.healthy === true);
      const before = await state()
      expect(before.length).toBeGreaterThan(10)
      await reconcileAgain()
      expect(await state()).toEqual(before)
    },
  )

  it('leaves no object and no process when its namespace is deleted', { timeout: 180_000 }, async () => {
    const running = await runningProcesses(databases.state)
    expect(running.length).toBeGreaterThanOrEqual(10)
    await shop().untilDeleted()
    await untilNothingRuns(databases.state, running)
  })
})
