// An Installation whose blueprint has sub-installations: data flows between them and their parent, in its order; deletion goes the other way.
// Source: spec/landscaper.md 2.3 to 2.6, 2.11, 3.5.

import { describe, expect, it, vi } from 'vitest'
import { API, installation, type LsObject, OPERATION, waitingItem } from '../support/cluster/cluster.ts'
import { dataObject } from '../support/landscaper/imports.ts'
import { manifestItem } from '../support/landscaper/manifests.ts'
import { useStage } from '../support/pawl/stage.ts'
import { deploying, exportingData, sub, subsOf } from '../support/landscaper/sub-installations.ts'
import { conditionOf } from '../support/cluster/kstatus.ts'

const stage = useStage('sub-installations')
const PATIENT = { timeout: 60_000, interval: 100 }

const exported = (name: string, config: unknown) => ({ name, config: { export: config } })

/** `db` exports its address, `app` imports that and exports a link, which the root exports. */
function shop(name: string) {
  const db = sub('db', {
    imports: { data: [{ name: 'port', dataRef: 'port' }] },
    exports: { data: [{ name: 'address', dataRef: 'db-address' }] },
    blueprint: {
      imports: [{ name: 'port', type: 'data', schema: { type: 'number' } }],
      ...deploying(exported('server', { host: 'db.example.org' })),
      ...exportingData('address', '{{ .values.deployitems.server.host }}:{{ .imports.port }}'),
    },
  })
  const app = sub('app', {
    imports: { data: [{ name: 'database', dataRef: 'db-address' }] },
    exports: { data: [{ name: 'link', dataRef: 'app-link' }] },
    blueprint: {
      imports: [{ name: 'database', type: 'data', schema: { type: 'string' } }],
      ...deploying({ name: 'web' }),
      ...exportingData('link', 'https://app.example.org/?db={{ .imports.database }}'),
    },
  })
  return installation(name, [{ name: 'own' }], {
    spec: {
      imports: { data: [{ name: 'port', dataRef: `${name}-port` }] },
      exports: { data: [{ name: 'link', dataRef: `${name}-link` }] },
    },
    blueprint: {
      imports: [{ name: 'port', type: 'data', schema: { type: 'number' } }],
      ...exportingData('link', '{{ index .values.dataobjects "app-link" }}'),
      subinstallations: [app, db],
    },
  })
}

async function runShop(name: string): Promise<LsObject> {
  await stage.cluster.create(dataObject(`${name}-port`, 5432), 'dataobjects')
  await stage.cluster.create(shop(name), 'installations')
  return await stage.cluster.waitUntilFinished(name)
}

describe.concurrent('an installation with sub-installations', () => {
  it('runs them in the order of their data, and exports the result', async () => {
    const { cluster } = stage
    const root = await runShop('shop')
    expect(root.status).toMatchObject({ phase: 'Succeeded' })
    const link = await cluster.get('dataobjects', 'shop-link')
    expect(link?.['data']).toBe('https://app.example.org/?db=db.example.org:5432')

    const subs = await subsOf(cluster, 'shop')
    expect([...subs.keys()].sort()).toEqual(['app', 'db'])
    for (const one of subs.values()) {
      expect(one.metadata.ownerReferences).toMatchObject([
        { kind: 'Installation', name: 'shop', uid: root.metadata.uid },
      ])
      expect(one.status).toMatchObject({
        phase: 'Succeeded',
        jobID: root.status?.jobID,
        jobIDFinished: root.status?.jobID,
      })
    }
    const { db, app } = Object.fromEntries(subs)
    const endOf = (one?: LsObject) => Date.parse(one?.status?.transitionTimes?.['finishedTime'] ?? '')
    expect(endOf(app)).toBeGreaterThanOrEqual(endOf(db))
    expect(root.status?.['subInstCache']).toMatchObject({
      activeSubs: [...subs]
        .map(([specName, { metadata }]) => ({ specName, objectName: metadata.name }))
        .sort((a, b) => (a.objectName < b.objectName ? -1 : 1)),
    })
  })

  it('is deleted with them, importers first', async () => {
    const { cluster } = stage
    await runShop('bygone')
    await cluster.delete('installations', 'bygone')
    await cluster.waitUntil('installations', 'bygone', (one) => one === undefined)
    expect((await subsOf(cluster, 'bygone')).size).toBe(0)
    expect((await cluster.items('bygone')).size).toBe(0)
  })

  it('deletes sub-installations that were removed from the blueprint, and runs the others again', async () => {
    const { cluster } = stage
    const two = (...names: readonly string[]) => ({
      blueprint: { subinstallations: names.map((name) => sub(name, { blueprint: deploying({ name: 'a' }) })) },
    })
    await cluster.create(installation('shrinking', [], two('one', 'two')), 'installations')
    const first = await cluster.waitUntilFinished('shrinking')
    expect(first.status).toMatchObject({ phase: 'Succeeded' })
    const before = await subsOf(cluster, 'shrinking')
    const { spec } = installation('shrinking', [], two('two', 'three')) as LsObject
    await cluster.patch('installations', 'shrinking', { spec, metadata: { annotations: { [OPERATION]: 'reconcile' } } })
    const second = await cluster.waitUntilFinished('shrinking', first.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    const after = await subsOf(cluster, 'shrinking')
    expect([...after.keys()].sort()).toEqual(['three', 'two'])
    expect(after.get('two')?.metadata.uid).toBe(before.get('two')?.metadata.uid)
    expect(after.get('two')?.status).toMatchObject({ jobIDFinished: second.status?.jobID })
  })

  it('fails with a failed sub-installation and its importers, after all have finished', async () => {
    const { cluster } = stage
    const failing = sub('failing', {
      exports: { data: [{ name: 'value', dataRef: 'value' }] },
      blueprint: { ...deploying({ name: 'bad', config: { phase: 'Failed' } }), ...exportingData('value', '1') },
    })
    const after = sub('after', {
      imports: { data: [{ name: 'value', dataRef: 'value' }] },
      blueprint: { imports: [{ name: 'value', type: 'data', schema: {} }], ...deploying({ name: 'a' }) },
    })
    const beside = sub('beside', { blueprint: deploying({ name: 'a' }) })
    const blueprint = { subinstallations: [failing, after, beside] }
    await cluster.create(installation('broken', [], { blueprint }), 'installations')
    const root = await cluster.waitUntilFinished('broken')
    expect(root.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'children failed' } })
    const subs = await subsOf(cluster, 'broken')
    const phases = [...subs].map(([name, { status }]) => [name, status?.phase]).sort()
    expect(phases).toEqual([
      ['after', 'Failed'],
      ['beside', 'Succeeded'],
      ['failing', 'Failed'],
    ])
    expect(subs.get('after')?.status?.lastError).toMatchObject({ reason: 'NotCompletedDependents' })
    for (const name of ['after', 'failing'])
      expect(root.status?.lastError?.message).toContain(`installation ${subs.get(name)?.metadata.name} is Failed`)
  })

  it('has the error codes of its failed descendants at every level', async () => {
    const { cluster } = stage
    const codes = ['ERR_CONFIGURATION_PROBLEM']
    const odd = { ...manifestItem({ name: 'odd', manifests: [] }), target: undefined }
    const inner = sub('inner', { blueprint: deploying({ ...odd, config: { ...odd.config, kind: 'Odd' } }) })
    const outer = sub('outer', { blueprint: { subinstallations: [inner] } })
    const blueprint = { subinstallations: [outer] }
    await cluster.create(installation('coded', [{ name: 'good' }], { blueprint }), 'installations')
    await cluster.create(
      installation('coded-too', [{ ...odd, config: { ...odd.config, kind: 'Odd' } }]),
      'installations',
    )
    for (const name of ['coded', 'coded-too'])
      expect((await cluster.waitUntilFinished(name)).status).toMatchObject({
        phase: 'Failed',
        lastError: { reason: 'children failed', codes },
      })
    const found = (await subsOf(cluster, 'coded')).get('outer')
    expect(found?.status?.lastError).toMatchObject({ codes })
  })
})

describe('an installation with sub-installations and no items', () => {
  it('continues after its workflow is terminated', async () => {
    const { cluster, pawl } = stage
    const blueprint = { subinstallations: [sub('one', { blueprint: deploying(waitingItem('slow')) })] }
    const without = { blueprint: { ...blueprint, deployExecutions: [] } }
    await cluster.create(installation('lost', [], without), 'installations')
    const root = await cluster.waitUntil('installations', 'lost', (one) => one?.status?.phase === 'Progressing')
    const one = await vi.waitFor(async () => {
      const found = (await subsOf(cluster, 'lost')).get('one')
      expect(found?.status?.phase).toBe('Progressing')
      return found as LsObject
    }, PATIENT)
    const { client, db } = pawl
    const runs = await db
      .selectFrom('job')
      .select('workflow_id')
      .where('uid', '=', root.metadata.uid ?? '')
      .execute()
    for (const { workflow_id } of runs) await client.workflow.getHandle(workflow_id).terminate()
    const slow = (await cluster.items(one.metadata.name)).get('slow') as LsObject
    await cluster.finishItem(slow, 'Succeeded')
    const done = await cluster.waitUntilFinished('lost')
    expect(done.status).toMatchObject({ phase: 'Succeeded', jobID: root.status?.jobID })
    expect(done.status?.['executionRef']).toBeUndefined()
  })
})

describe('a tree of sub-installations', () => {
  it('that is endless is refused with its path', async () => {
    const { cluster } = stage
    const template = JSON.stringify({
      subinstallations: [{ name: 'again', blueprint: { filesystem: 'FILES' } }],
    }).replace('"FILES"', '{{ toJson .blueprint.inline.filesystem }}')
    const subinstallationExecutions = [{ name: 'itself', type: 'GoTemplate', template }]
    const blueprint = { subinstallationExecutions, deployExecutions: [] }
    await cluster.create(installation('endless', [], { blueprint }), 'installations')
    const root = await cluster.waitUntilFinished('endless', undefined, 'installations', 120_000)
    expect(root.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'children failed' } })
    const all = (await cluster.list('installations')).filter(({ metadata }) => metadata.name.startsWith('again-'))
    expect(all).toHaveLength(20)
    const deepest = all.filter(({ status }) => status?.lastError?.reason === 'ERR_CONFIGURATION_PROBLEM')
    expect(deepest).toHaveLength(1)
    expect(deepest[0]?.status?.lastError?.message).toMatch(/at most 20: endless( -> again){21}$/)
    const refused = { status: 'False', reason: 'InstallationCreatingFailed' }
    expect(conditionOf(deepest[0], 'EnsureSubInstallations')).toMatchObject(refused)
  })
})

describe('a sub-installation', () => {
  it('starts no job by the reconcile annotation', async () => {
    const { cluster } = stage
    const blueprint = { subinstallations: [sub('one', { blueprint: deploying({ name: 'a' }) })] }
    await cluster.create(installation('asked', [], { blueprint }), 'installations')
    const root = await cluster.waitUntilFinished('asked')
    const [one] = [...(await subsOf(cluster, 'asked')).values()]
    const asked = await cluster.patch('installations', one?.metadata.name ?? '', {
      metadata: { annotations: { [OPERATION]: 'reconcile' } },
    })
    await stage.pawl.waitUntilJournaled(asked)
    await stage.pawl.waitUntilSettled(asked)
    const now = await cluster.get('installations', asked.metadata.name)
    expect(now?.apiVersion).toBe(API)
    expect(now?.status).toMatchObject({ jobID: root.status?.jobID, jobIDFinished: root.status?.jobID })
  })
})
