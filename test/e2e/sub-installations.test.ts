// Sub-installations: data and Targets flow between them and their parent, in the order of their data; templates render
// them; users delete them, or remove their parent. Large trees: large-trees.test.ts.
// Source: spec/landscaper.md 2.3 to 2.6, 2.11, 3.5, 3.6, 3.9.

import { describe, expect, it, vi } from 'vitest'
import { installation, type LsObject, OPERATION } from '../support/cluster/cluster.ts'
import { conditionOf } from '../support/cluster/kstatus.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { dataObject, mockItems, renderedConfig, target, TARGET_TYPE } from '../support/landscaper/imports.ts'
import { manifestItem } from '../support/landscaper/manifests.ts'
import { deploying, exportingData, sub, subsOf, untilSub } from '../support/landscaper/sub-installations.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('sub-installations')
const PATIENT = { timeout: 60_000, interval: 100 }
// For Kubernetes' garbage collector, which pauses for a while when other tests create and delete CRDs.
const COLLECTED = { timeout: 120_000, interval: 100 }

const data = (name: string) => ({ name, type: 'data', schema: { type: 'string' } })
const targets = (name: string, type: string) => ({ name, type, targetType: TARGET_TYPE })
// An item whose configuration shows all imports.
const template = JSON.stringify({ deployItems: mockItems('IMPORTS') }).replace('"IMPORTS"', '{{ toJson .imports }}')
const SHOWING = { deployExecutions: [{ name: 'items', type: 'GoTemplate', template }] }

async function run(root: ReturnType<typeof installation>): Promise<LsObject> {
  await stage.cluster.create(root, 'installations')
  return await stage.cluster.waitUntilFinished(root.metadata.name)
}

async function runAgain(before: LsObject, patch: object = {}): Promise<LsObject> {
  const { name } = before.metadata
  await stage.cluster.patch('installations', name, {
    metadata: { annotations: { [OPERATION]: 'reconcile' } },
    ...patch,
  })
  return await stage.cluster.waitUntilFinished(name, before.status?.jobID)
}

/** What the item `show` of a sub-installation of a sub-installation ... got. */
async function shown(root: string, ...templates: readonly string[]): Promise<unknown> {
  let name = root
  for (const one of templates) name = (await subsOf(stage.cluster, name)).get(one)?.metadata.name ?? ''
  return await renderedConfig(stage.cluster, name, 'show')
}

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

describe.concurrent('an installation with sub-installations', () => {
  it('runs them in the order of their data, exports the result, and is deleted with them', async () => {
    const { cluster } = stage
    await cluster.create(dataObject('shop-port', 5432), 'dataobjects')
    const root = await run(shop('shop'))
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

    await cluster.delete('installations', 'shop')
    await cluster.waitUntilGone('shop')
    expect([(await subsOf(cluster, 'shop')).size, (await cluster.items('shop')).size]).toEqual([0, 0])
  })

  it('fails after all have ended, with the error codes of the failed descendants; importers of a failed one fail too', async () => {
    const { cluster } = stage
    const odd = { ...manifestItem({ name: 'odd', manifests: [] }), target: undefined }
    const inner = sub('inner', { blueprint: deploying({ ...odd, config: { ...odd.config, kind: 'Odd' } }) })
    const failing = sub('failing', {
      exports: { data: [{ name: 'value', dataRef: 'value' }] },
      blueprint: { subinstallations: [inner], ...exportingData('value', '1') },
    })
    const after = sub('after', {
      imports: { data: [{ name: 'value', dataRef: 'value' }] },
      blueprint: { imports: [{ name: 'value', type: 'data', schema: {} }], ...deploying({ name: 'a' }) },
    })
    const beside = sub('beside', { blueprint: deploying({ name: 'a' }) })
    const root = await run(installation('broken', [], { blueprint: { subinstallations: [failing, after, beside] } }))
    const codes = ['ERR_CONFIGURATION_PROBLEM']
    expect(root.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'children failed', codes } })
    const subs = await subsOf(cluster, 'broken')
    const statusOf = (name: string) => subs.get(name)?.status
    expect(statusOf('failing')).toMatchObject({ phase: 'Failed', lastError: { reason: 'children failed', codes } })
    expect(statusOf('after')).toMatchObject({ phase: 'Failed', lastError: { reason: 'NotCompletedDependents' } })
    expect(statusOf('beside')).toMatchObject({ phase: 'Succeeded' })
    for (const name of ['after', 'failing'])
      expect(root.status?.lastError?.message).toContain(`Installation "${subs.get(name)?.metadata.name}" failed`)
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
    expect(deepest[0]?.status?.lastError?.message).toMatch(
      /subinstallations: found 21 levels, endless( -> again){21}; expected at most 20$/,
    )
    const refused = { status: 'False', reason: 'InstallationCreatingFailed' }
    expect(conditionOf(deepest[0], 'EnsureSubInstallations')).toMatchObject(refused)
  })
})

describe.concurrent('targets of a sub-installation', () => {
  /** Exports a Target that the root does not have. */
  const maker = sub('maker', {
    exports: { targets: [{ name: 'cluster', target: 'made' }] },
    blueprint: {
      exports: [targets('cluster', 'target')],
      exportExecutions: [
        {
          name: 'exports',
          type: 'GoTemplate',
          template: `exports: { cluster: { type: ${TARGET_TYPE}, config: { token: t-made } } }`,
        },
      ],
    },
  })
  const inner = sub('inner', {
    imports: {
      targets: [
        { name: 'list', targetListRef: 'all' },
        { name: 'map', targetMapRef: 'named' },
        { name: 'first', target: 'all[0]' },
        { name: 'eu', target: 'named[eu]' },
      ],
    },
    blueprint: {
      imports: [
        targets('list', 'targetList'),
        targets('map', 'targetMap'),
        targets('first', 'target'),
        targets('eu', 'target'),
      ],
      ...SHOWING,
    },
  })
  const outer = sub('outer', {
    imports: {
      targets: [
        { name: 'all', targets: ['made', 'clusters[1]', 'clusters[0]'] },
        { name: 'named', targetMap: { eu: 'regions[eu]', own: 'made' } },
        { name: 'given', targetListRef: 'clusters' },
      ],
    },
    blueprint: {
      imports: [targets('all', 'targetList'), targets('named', 'targetMap'), targets('given', 'targetList')],
      subinstallations: [inner],
      ...SHOWING,
    },
  })
  const imports = (clusters: readonly string[]) => ({
    targets: [
      { name: 'clusters', targets: clusters },
      { name: 'regions', targetMap: { eu: 'on-eu', us: 'on-us' } },
    ],
  })
  const token = (name: string) => ({ spec: { config: { token: `t-${name}` } } })

  it('come from a sibling and from the parent, into lists and maps that go further down', async () => {
    const { cluster } = stage
    // More than ten: as text, the index 10 comes before 2.
    const many = ['on-eu', 'on-us', ...Array.from({ length: 9 }, (_, index) => `on-${index}`)]
    for (const name of many) await cluster.create(target(name), 'targets')
    const blueprint = {
      imports: [targets('clusters', 'targetList'), targets('regions', 'targetMap')],
      exports: [targets('up', 'target')],
      exportExecutions: [
        { name: 'up', type: 'GoTemplate', template: 'exports: { up: {{ toJson .values.targets.made.spec }} }' },
      ],
      subinstallations: [outer, maker],
    }
    const spec = { imports: imports(many), exports: { targets: [{ name: 'up', target: 'lists-up' }] } }
    const first = await run(installation('lists', [], { spec, blueprint }))
    expect(first.status).toMatchObject({ phase: 'Succeeded' })
    expect(await shown('lists', 'outer', 'inner')).toMatchObject({
      list: [token('made'), token('on-us'), token('on-eu')],
      map: { eu: token('on-eu'), own: token('made') },
      first: token('made'),
      eu: token('on-eu'),
    })
    expect(await shown('lists', 'outer')).toMatchObject({ given: many.map(token) })
    expect(await cluster.get('targets', 'lists-up')).toMatchObject(token('made'))

    // A shorter list in another order.
    const second = await runAgain(first, { spec: { imports: imports(['on-us', 'on-eu']) } })
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    const { given } = (await shown('lists', 'outer')) as { given: readonly unknown[] }
    expect(given).toMatchObject([token('on-us'), token('on-eu')])
    expect(await shown('lists', 'outer', 'inner')).toMatchObject({
      list: [token('made'), token('on-eu'), token('on-us')],
    })

    // An element that the list does not have.
    const third = await runAgain(second, { spec: { imports: imports(['on-us']) } })
    expect(third.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'children failed' } })
    const failed = (await subsOf(cluster, 'lists')).get('outer')
    expect(failed?.status?.lastError).toMatchObject({ reason: 'ImportNotFound' })

    await cluster.delete('installations', 'lists')
    await cluster.waitUntilGone('lists')
    expect(await subsOf(cluster, 'lists')).toEqual(new Map())
  })
})

describe.concurrent('sub-installations that are rendered', () => {
  const BLUEPRINT = { filesystem: { 'blueprint.yaml': JSON.stringify(SHOWING) } }

  it('come from Spiff, from a file and from the state of the previous job', async () => {
    const { cluster } = stage
    const kept = `
{{- $count := add1 (.state.count | default 0) }}
state: { count: {{ $count }} }
subinstallations: [{ name: count-{{ $count }}, blueprint: ${JSON.stringify(BLUEPRINT).replaceAll('{{', '{{ "{{" }}')} }]`
    const spiff = { subinstallations: [{ name: '(( "of-" imports.zone ))', blueprint: BLUEPRINT }] }
    const { spec } = installation('rendered', [], {
      blueprint: {
        imports: [data('zone')],
        subinstallationExecutions: [
          { name: 'spiff', type: 'Spiff', template: spiff },
          { name: 'kept', type: 'GoTemplate', file: 'subs/kept.yaml' },
        ],
      },
    })
    const { 'blueprint.yaml': text } = spec.blueprint.inline.filesystem
    const filesystem = { 'blueprint.yaml': text, subs: { 'kept.yaml': kept } }
    await cluster.create(dataObject('rendered-zone', 'eu'), 'dataobjects')
    const first = await run({
      ...installation('rendered', []),
      spec: {
        imports: { data: [{ name: 'zone', dataRef: 'rendered-zone' }] },
        blueprint: { inline: { filesystem } },
      } as unknown as typeof spec,
    })
    expect(first.status).toMatchObject({ phase: 'Succeeded' })
    const before = await subsOf(cluster, 'rendered')
    expect([...before.keys()].sort()).toEqual(['count-1', 'of-eu'])
    const second = await runAgain(first)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    const after = await subsOf(cluster, 'rendered')
    expect([...after.keys()].sort()).toEqual(['count-2', 'of-eu'])
    expect(after.get('of-eu')?.metadata.uid).toBe(before.get('of-eu')?.metadata.uid)
  })
})

/** `app` imports an export of `db`. @param db type of the item of `db`. @param app type of the item of `app`. */
function pair(db: string, app = db): readonly object[] {
  const exporter = sub('db', {
    exports: { data: [{ name: 'address', dataRef: 'address' }] },
    blueprint: { ...deploying({ name: 'server', type: db }), ...exportingData('address', 'here') },
  })
  const importer = sub('app', {
    imports: { data: [{ name: 'address', dataRef: 'address' }] },
    blueprint: {
      imports: [{ name: 'address', type: 'data', schema: {} }],
      ...deploying({ name: 'web', type: app }),
    },
  })
  return [importer, exporter]
}

function rootOf(name: string, subinstallations: readonly object[]) {
  return installation(name, [], { blueprint: { subinstallations, deployExecutions: [] } })
}

const isIn =
  (phase: string) =>
  ({ status }: LsObject) =>
    status?.phase === phase

const deleteSub = async ({ metadata }: LsObject) => await stage.cluster.delete('installations', metadata.name)

/** Runs `use` with a deployer that handles its own item type. */
async function withDeployer(name: string, use: (type: string, deployer: Deployer) => Promise<void>): Promise<void> {
  const type = `example.org/${name}`
  const deployer = Deployer.start(stage.cluster, type)
  try {
    await use(type, deployer)
  } finally {
    await deployer.stop()
  }
}

describe.concurrent('sub-installations that a user deletes', () => {
  it.each([
    ['waits for a sibling', 'app', 'Init'],
    ['runs', 'db', 'Progressing'],
  ])('one that %s ends its job, and is recreated by the next job', async (_, deleted, phase) => {
    const { cluster } = stage
    const name = `midway-${deleted}`
    await withDeployer(name, async (type, deployer) => {
      deployer.install = () => 'wait'
      await cluster.create(rootOf(name, pair(type)), 'installations')
      await untilSub(stage.cluster, name, 'db', isIn('Progressing'))
      const one = await untilSub(stage.cluster, name, deleted, isIn(phase))
      await deleteSub(one)
      deployer.install = () => 'done'
      const first = await cluster.waitUntilFinished(name)
      expect(first.status).toMatchObject({ phase: 'Succeeded' })
      const second = await runAgain(first)
      expect(second.status).toMatchObject({ phase: 'Succeeded' })
      const anew = await untilSub(stage.cluster, name, deleted, isIn('Succeeded'))
      expect(anew.metadata.uid).not.toBe(one.metadata.uid)
    })
  })

  it('with their parent are uninstalled by their own jobs, in no order; a failed deletion is retried when a user triggers it', async () => {
    const { cluster } = stage
    await withDeployer('stuck', async (type, deployer) => {
      deployer.uninstall = () => 'failed'
      await cluster.create(rootOf('orphans', pair('landscaper.gardener.cloud/mock', type)), 'installations')
      await cluster.waitUntilFinished('orphans')
      const app = await untilSub(stage.cluster, 'orphans', 'app', isIn('Succeeded'))
      await cluster.patch('installations', 'orphans', { metadata: { finalizers: null } })
      await cluster.delete('installations', 'orphans')
      await vi.waitFor(async () => {
        const left = [...(await subsOf(cluster, 'orphans')).values()]
        expect(left.filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual([])
      }, COLLECTED)
      const stuck = await untilSub(stage.cluster, 'orphans', 'app', isIn('DeleteFailed'))
      expect([...(await subsOf(cluster, 'orphans')).keys()]).toContain('app')
      await vi.waitFor(async () => {
        expect([...(await subsOf(cluster, 'orphans')).keys()]).toEqual(['app'])
      }, PATIENT)
      expect(stuck.metadata.uid).toBe(app.metadata.uid)
      deployer.uninstall = () => 'done'
      await cluster.trigger(app.metadata.name)
      await cluster.waitUntilGone(app.metadata.name)
    })
  }, 300_000)
})
