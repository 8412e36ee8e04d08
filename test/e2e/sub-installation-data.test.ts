// The data flow between an Installation and its descendants: data through mappings on every side, Targets in lists and maps, and templates that
// render sub-installations, valid or not. Source: spec/landscaper.md 2.5, 3.5, 3.6, 3.9.

import { describe, expect, it } from 'vitest'
import { installation, type LsObject, OPERATION } from '../support/cluster/cluster.ts'
import { dataObject, mockItems, renderedConfig, target, TARGET_TYPE } from '../support/landscaper/imports.ts'
import { useStage } from '../support/pawl/stage.ts'
import { exportingData, sub, subsOf } from '../support/landscaper/sub-installations.ts'
import { conditionOf } from '../support/cluster/kstatus.ts'

const stage = useStage('sub-data')

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

describe.concurrent('data of a sub-installation', () => {
  it('passes the mappings of its parent and its own mappings, in both directions', async () => {
    const { cluster } = stage
    for (const [name, value] of Object.entries({ host: 'db', zone: 'eu' }))
      await cluster.create(dataObject(`mapped-${name}`, value), 'dataobjects')
    const inner = sub('inner', {
      imports: { data: ['endpoint', 'zone'].map((name) => ({ name, dataRef: name })) },
      importDataMappings: { url: '(( "https://" endpoint "/" zone ))' },
      exports: { data: [{ name: 'loud', dataRef: 'answer' }] },
      exportDataMappings: { loud: '(( said "!" ))' },
      blueprint: { imports: [data('url')], ...SHOWING, ...exportingData('said', '{{ .imports.url }}') },
    })
    const root = await run(
      installation('mapped', [], {
        spec: {
          imports: { data: ['host', 'zone'].map((name) => ({ name, dataRef: `mapped-${name}` })) },
          importDataMappings: { endpoint: '(( host "." zone ))' },
          exports: { data: [{ name: 'last', dataRef: 'mapped-last' }] },
          exportDataMappings: { last: '(( answer "?" ))' },
        },
        blueprint: {
          imports: [data('endpoint'), data('zone')],
          ...exportingData('answer', '{{ .values.dataobjects.answer }}'),
          subinstallations: [inner],
        },
      }),
    )
    expect(root.status).toMatchObject({ phase: 'Succeeded' })
    expect(await shown('mapped', 'inner')).toEqual({ url: 'https://db.eu/eu' })
    expect((await cluster.get('dataobjects', 'mapped-last'))?.['data']).toBe('https://db.eu/eu!?')
  })

  it('that a mapping lacks fails the sub-installation and its parent', async () => {
    const inner = sub('inner', {
      importDataMappings: { url: '(( nothing ))' },
      blueprint: { imports: [data('url')], ...SHOWING },
    })
    const root = await run(installation('unmapped', [], { blueprint: { subinstallations: [inner] } }))
    const one = (await subsOf(stage.cluster, 'unmapped')).get('inner')
    expect(one?.status).toMatchObject({ phase: 'Failed', lastError: { operation: 'handlePhaseInit' } })
    expect(root.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'children failed' } })
    expect(root.status?.lastError?.message).toContain(`installation ${one?.metadata.name} is Failed: `)
    expect(root.status?.lastError?.message).toContain('url')
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
  const rendering = (execution: object) => ({ subinstallationExecutions: [{ name: 'more', ...execution }] })

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
    expect([...(await subsOf(cluster, 'rendered')).keys()].sort()).toEqual(['count-1', 'of-eu'])
    const second = await runAgain(first)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    expect([...(await subsOf(cluster, 'rendered')).keys()].sort()).toEqual(['count-2', 'of-eu'])
  })

  it.each([
    ['that fails', '{{ fail "no zone is given" }}', 'TemplatingFailed', 'no zone is given'],
    [
      'of another kind',
      'subinstallations: [{ kind: Blueprint, name: a }]',
      'ERR_CONFIGURATION_PROBLEM',
      'InstallationTemplate',
    ],
  ])('by a template %s fail the job; a fixed template works in the next job', async (title, bad, reason, message) => {
    const { cluster } = stage
    const name = `bad-${title.toLowerCase().replaceAll(' ', '-')}`
    const failed = await run(
      installation(name, [{ name: 'own' }], { blueprint: rendering({ type: 'GoTemplate', template: bad }) }),
    )
    expect(failed.status).toMatchObject({
      phase: 'Failed',
      lastError: { operation: 'handlePhaseInit', reason },
    })
    const refused = { status: 'False', reason: 'InstallationCreatingFailed' }
    expect(conditionOf(failed, 'EnsureSubInstallations')).toMatchObject(refused)
    expect(failed.status?.lastError?.message).toContain(message)
    expect([(await subsOf(cluster, name)).size, await cluster.get('executions', name)]).toEqual([0, undefined])
    const good = rendering({ type: 'Spiff', template: { subinstallations: [{ name: 'a', blueprint: BLUEPRINT }] } })
    const { spec } = installation(name, [{ name: 'own' }], { blueprint: good })
    const mended = await runAgain(failed, { spec })
    expect(mended.status).toMatchObject({ phase: 'Succeeded' })
    const made = { status: 'True', reason: 'InstallationsInstalled' }
    expect(conditionOf(mended, 'EnsureSubInstallations')).toMatchObject(made)
    expect([...(await subsOf(cluster, name)).keys()]).toEqual(['a'])
  })
})
