import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import {
  builtInRegistry,
  controllerFiles,
  createRegistry,
  disabledControllers,
  joinKinds,
  loadRegistry,
  wingOf,
} from '../../../worker/server/registry.ts'
import { defineLevel, type LevelTarget, nop, path, type StateQuery } from '../../../workflows/kit/index.ts'

const { watchedKinds } = builtInRegistry
const shopKind = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
const level = (name: string, target: LevelTarget = shopKind, kind = 'v1/ConfigMap') =>
  defineLevel({ name, target, queries: { some: { kind, many: true } }, plan: nop })

describe('the registry of controllers', () => {
  it('requests one run per object in level mode and routes events to it', () => {
    const registry = createRegistry([level('shop')])
    expect(registry.subjectKinds).toMatchObject({
      installation: { group: 'landscaper.gardener.cloud', kind: 'Installation' },
      shop: { group: 'example.com', kind: 'Shop' },
    })
    expect(registry.wantedRun('shop', {}, true)).toMatchObject({ jobID: '' })
    const at = {
      group: 'example.com',
      uid: 'u',
      namespace: 'n',
      name: 'x',
      resourceVersion: 1,
      projection: {},
      previous: undefined,
    }
    expect(registry.route({ ...at, kind: 'Shop', type: 'ADDED' })).toMatchObject({ routes: [{ controller: 'shop' }] })
  })

  it('watches every kind once with the paths of all controllers, and leaves built-in kinds unchanged', () => {
    const first = level('first', { ...shopKind, projection: [path('status.a')] }, 'example.com/v1/Shop')
    const second = level('second', { ...shopKind, projection: [path('status.a'), path('status.b')] })
    const { watchedKinds: kinds } = createRegistry([first, second, withExecutions()])
    expect(kinds.map(({ kind }) => kind)).toEqual([...watchedKinds.map(({ kind }) => kind), 'Shop'])
    expect(kinds.find(({ kind }) => kind === 'Shop')?.projection).toEqual([path('status.a'), path('status.b')])
    expect(kinds.slice(0, watchedKinds.length)).toEqual(watchedKinds)
  })

  it('contains a controller behind a flag, and watches its kinds, only with the flag', () => {
    const off = createRegistry([], ['landscaper'])
    const on = createRegistry([], ['landscaper'], disabledControllers({ 'default-contexts': 'yes' }))
    const [without, withIt] = [off, on].map(({ watchedKinds: kinds }) => kinds.map(({ kind }) => kind))
    expect(withIt?.toSorted()).toEqual([...(without ?? []), 'Namespace', 'Context'].toSorted())
    expect([off.controllers.has('context'), on.controllers.has('context')]).toEqual([false, true])
    expect([wingOf('context'), wingOf('shop')]).toEqual(['landscaper', undefined])
  })

  it('rejects two controllers with the same name', () => {
    expect(() => createRegistry([level('shop'), level('shop')])).toThrow('two controllers have the name shop')
    expect(() => createRegistry([level('installation')])).toThrow('two controllers have the name installation')
  })

  it('watches two kinds with the same name in different groups', () => {
    const registry = createRegistry([level('shop'), level('other', { ...shopKind, apiVersion: 'other.com/v1' })])
    const shops = registry.watchedKinds.filter(({ kind }) => kind === 'Shop')
    expect(shops.map(({ apiVersion }) => apiVersion)).toEqual(['example.com/v1', 'other.com/v1'])
    const at = { kind: 'Shop', uid: 'u', namespace: 'n', name: 'x', resourceVersion: 1, projection: {} }
    const routed = (group: string) => registry.route({ ...at, group, previous: undefined, type: 'ADDED' })
    expect(routed('example.com')).toMatchObject({ routes: [{ controller: 'shop' }] })
    expect(routed('other.com')).toMatchObject({ routes: [{ controller: 'other' }] })
    expect(routed('third.com')).toEqual({ ignored: 'no controller watches this kind' })
  })

  it('watches the selected objects of a kind, or all if its controllers select different ones', () => {
    const hearing = (name: string, followed?: Readonly<Record<string, string>>) => {
      const events = { kind: 'events.example.com/v1/Alarm', many: true, ...(followed && { followed }) } as const
      const plurals = { 'events.example.com/v1/Alarm': 'alarms' }
      return defineLevel({ name, target: shopKind, queries: { events }, plan: nop, plurals })
    }
    const fieldsOf = (...controllers: Parameters<typeof createRegistry>[0]) =>
      createRegistry(controllers).watchedKinds.find(({ kind }) => kind === 'Alarm')?.fields
    const warnings = { type: 'Warning' }
    expect(fieldsOf(hearing('shop', warnings), hearing('till', warnings))).toEqual(warnings)
    expect(fieldsOf(hearing('shop', warnings), hearing('till'))).toBeUndefined()
    expect(fieldsOf(hearing('shop'), hearing('till', warnings))).toBeUndefined()
    expect(fieldsOf(hearing('shop', { type: 'Normal' }), hearing('till', warnings))).toBeUndefined()
  })

  it('rejects two versions of a kind', () => {
    const other = { ...shopKind, apiVersion: 'example.com/v2' }
    expect(() => createRegistry([level('shop'), level('other', other)])).toThrow(
      'controller other: found kind example.com/v2/Shop, but another controller uses example.com/v1 of kind Shop.example.com',
    )
  })
})

describe('the flag --controllers', () => {
  let folder: string
  const write = async (name: string, text: string) => {
    const file = join(folder, name)
    await writeFile(file, text)
    return file
  }
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'pawl-controllers-'))
  })
  afterAll(async () => {
    await rm(folder, { recursive: true })
  })

  it('contains files separated by commas, and rejects a missing file', async () => {
    const [a, b] = [await write('a.ts', ''), await write('b.ts', '')]
    expect(controllerFiles(`${a}, ${b},,${a}`)).toEqual([a, b])
    expect(controllerFiles(undefined)).toEqual([])
    expect(() => controllerFiles(`${a},nowhere.ts`)).toThrow(
      `--controllers: ${resolve('nowhere.ts')} does not exist; expected an existing file`,
    )
  })

  it('loads the exports of the modules in order', async () => {
    const file = resolve(import.meta.dirname, '../../support/level/widget.ts')
    expect((await loadRegistry([file], ['landscaper'])).levels.map(({ name }) => name)).toEqual([
      'target',
      'widget',
      'stamper',
    ])
  })

  it('rejects a module that is missing, broken, or has other exports', async () => {
    const missing = join(folder, 'missing.ts')
    await expect(loadRegistry([missing])).rejects.toThrow(`--controllers ${missing}: cannot load the module: `)
    const broken = await write('broken.ts', 'throw new Error("no luck")')
    await expect(loadRegistry([broken])).rejects.toThrow(`--controllers ${broken}: cannot load the module: no luck`)
    const empty = await write('empty.ts', 'export const other = 1')
    await expect(loadRegistry([empty])).rejects.toThrow(
      `--controllers ${empty}: \`controllers\`: found nothing; export a list of values of defineLevel`,
    )
    const wrong = await write('wrong.ts', 'export const controllers = [{ name: "x" }]')
    await expect(loadRegistry([wrong])).rejects.toThrow(
      '`controllers`: found something else; export a list of values of defineLevel',
    )
  })
})

function withExecutions() {
  const kind = 'landscaper.gardener.cloud/v1alpha1/Execution'
  const queries = { some: { kind, many: true } } as const
  return defineLevel({ name: 'third', target: shopKind, queries, plan: nop, plurals: { [kind]: 'executions' } })
}

const levelWith = (name: string, queries: Readonly<Record<string, StateQuery>>) =>
  defineLevel({
    name,
    queries,
    plan: nop,
    target: { apiVersion: 'example.com/v1', kind: `S${name.slice(1)}`, plural: `${name}s`.toLowerCase() },
  })
const traits = (...all: readonly Readonly<Record<string, StateQuery>>[]) =>
  joinKinds(
    [],
    all.map((queries, at) => levelWith(`shop${at}`, queries)),
  ).find(({ kind }) => kind === 'Event')?.indexKeys
const about = (field: string): StateQuery => ({ kind: 'v1/Event', many: true, fieldsFrom: { [field]: 'spec.names' } })
const all: StateQuery = { kind: 'v1/Event', many: true }

describe('a kind of several controllers', () => {
  it('has the index keys of all of them', () => {
    expect(traits({ all })).toBeUndefined()
    expect(traits({ all }, { one: about('reason') })).toEqual({ fields: ['reason'] })
    expect(traits({ one: about('reason') }, { two: about('type') }, { all })).toEqual({ fields: ['reason', 'type'] })
    expect(traits({ one: { ...all, labelsFrom: 'spec.selector' } }, { two: about('type') })).toEqual({
      fields: ['type'],
    })
  })
})
