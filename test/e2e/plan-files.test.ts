// `pawl plan -f` after a worker has applied the file: the unchanged file changes nothing, an edited file shows its changes, and both show the expected time.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, it } from 'vitest'

import { installation } from '../support/cluster/cluster.ts'
import { dataObject } from '../support/landscaper/imports.ts'
import { runCommand } from '../support/pawl/run-command.ts'
import { useStage } from '../support/pawl/stage.ts'
import { deploying, sub } from '../support/landscaper/sub-installations.ts'

const stage = useStage('plan-files-e2e')

interface Told {
  readonly writes: readonly { readonly state: string; readonly kind: string; readonly changes: readonly object[] }[]
  readonly jobs: readonly {
    readonly end: string
    readonly expectedMs?: number
    readonly items: readonly { readonly item: string; readonly state: string }[]
  }[]
}

it('a plan of an unchanged file shows no changes, and a plan of an edited file shows the changed fields', async () => {
  const { cluster, pawl } = stage
  const shop = (size: string) =>
    installation(
      'shop',
      [
        { name: 'a' },
        { name: 'b', dependsOn: ['a'], config: { providerStatus: { apiVersion: 'v1', kind: 'X', size } } },
      ],
      {
        triggered: false,
        spec: { imports: { data: [{ name: 'size', dataRef: 'size' }] } },
        blueprint: {
          imports: [{ name: 'size', type: 'data', schema: { type: 'number' } }],
          subinstallations: [sub('part', { blueprint: deploying({ name: 'inner' }) })],
        },
      },
    )
  const { kind, metadata, ...content } = shop('small')
  await cluster.create(dataObject('size', 3), 'dataobjects')
  const asked = { 'landscaper.gardener.cloud/operation': 'reconcile' }
  await cluster.create({ kind, metadata: { ...metadata, annotations: asked }, ...content }, 'installations')
  await pawl.waitUntilSettled(await cluster.waitUntilFinished('shop'))

  const same = await plan(shop('small'))
  expect(same.told.writes.filter(({ state }) => state !== 'unchanged')).toEqual([])
  expect(same, JSON.stringify(same.told.jobs)).toMatchObject({ code: 0 })
  expect(same.told.jobs).toMatchObject([{ end: 'succeeds', expectedMs: expect.any(Number) as number }])
  expect(same.told.jobs[0]?.items.map(({ item, state }) => `${item} ${state}`)).toEqual(['a unchanged', 'b unchanged'])

  const edited = await plan(shop('large'))
  expect(edited.code).toBe(3)
  const changed = edited.told.writes.filter(({ state }) => state !== 'unchanged')
  expect(changed.map(({ state, kind: of }) => `${state} ${of}`)).toEqual([
    ...['changed Installation', 'changed Execution', 'changed DeployItem'],
  ])
  expect(changed.at(-1)?.changes).toEqual([
    { field: 'spec.config.providerStatus.size', before: '"small"', after: '"large"' },
  ])
}, 240_000)

async function plan(object: object): Promise<{ readonly told: Told; readonly code: unknown }> {
  const { pawl, servers, cluster } = stage
  const folder = await mkdtemp(join(tmpdir(), 'pawl-plan-'))
  const file = join(folder, 'shop.json')
  await writeFile(file, JSON.stringify(object))
  const found = ['--kubeconfig', servers.kubeconfigPath, '--database-url', pawl.databaseUrl, '-n', cluster.namespace]
  const { code, stdout, stderr } = await runCommand('plan', '-f', file, '-o', 'json', ...found)
  await rm(folder, { recursive: true, force: true })
  if (stdout === '') throw new Error(stderr)
  return { told: JSON.parse(stdout) as Told, code }
}
