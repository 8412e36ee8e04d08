// The imports of an Installation: the objects that `spec.imports` refers to, the values that an API server returns for them, the hash of the values, and the
// copies of the values: DataObjects and Targets with labels of the Installation.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LandscaperDeps } from '../../../../activities/landscaper/deps.ts'
import { importCopies } from '../../../../activities/landscaper/installation/import-copies.ts'
import { importSources } from '../../../../activities/landscaper/installation/import-sources.ts'
import { loadImports } from '../../../../activities/landscaper/installation/imports.ts'
import type { InstallationSpec } from '../../../../activities/landscaper/installation/spec.ts'
import { dataObjectName } from '../../../../activities/landscaper/render/names.ts'
import { createKubeClient, type KubeClient } from '../../../../activities/kube/client.ts'
import { storedAs } from '../../../../activities/kube/object-views.ts'
import { installationKind } from '../../../../workflows/landscaper/installation/kind.ts'
import { API } from '../../../support/cluster/cluster.ts'
import { refusal, TinyApi } from '../../kube/tiny-api.ts'
import { data } from '../tenant-data.ts'

const CANARY = 'canary-5d1c'
let api: TinyApi
let kube: KubeClient

beforeEach(async () => {
  api = await TinyApi.start()
  kube = createKubeClient({ kubeconfig: api.kubeconfig })
})
afterEach(async () => {
  await kube.close()
  await api.stop()
})

function put(plural: string, name: string, content: object, metadata: object = {}) {
  const root = plural === 'secrets' || plural === 'configmaps' ? '/api/v1' : `/apis/${API}`
  api.put(`${root}/namespaces/n/${plural}/${name}`, { metadata: { name, namespace: 'n', ...metadata }, ...content })
}

const putSecret = (name: string, entries: Readonly<Record<string, string>>) => {
  const encoded = Object.entries(entries).map(([key, text]) => [key, Buffer.from(text).toString('base64')])
  put('secrets', name, { data: Object.fromEntries(encoded) as object })
}

async function load(dataImports: readonly object[], targets: readonly object[] = [], contentKey?: Buffer) {
  const object = { metadata: { name: 'i', namespace: 'n' }, spec: { imports: { data: dataImports, targets } } }
  const installation = storedAs(installationKind, object)
  // The only dependencies that `loadImports` uses.
  return await loadImports({ kube, contentKey, landscaper: { templates: { data } } } as LandscaperDeps, installation)
}

const size = { name: 'size', dataRef: 'size' }
const cluster = { name: 'cluster', target: 'cluster' }

describe('the hash of imports', () => {
  const hash = async (...given: Parameters<typeof load>) => (await load(...given)).hash

  it('changes with the content of a DataObject, and not with the order of its keys', async () => {
    put('dataobjects', 'size', { data: { a: 1, b: [1, 2] } })
    const before = await hash([size])
    put('dataobjects', 'size', { data: { b: [1, 2], a: 1 } }, { labels: { x: 'y' }, generation: 7 })
    expect(await hash([size])).toBe(before)
    put('dataobjects', 'size', { data: { a: 1, b: [2, 1] } })
    expect(await hash([size])).not.toBe(before)
  })

  it('changes with the imported entries of a Secret, and not with the other entries', async () => {
    putSecret('s', { used: 'a', other: 'a' })
    const keyed = [{ name: 'k', secretRef: { name: 's', key: 'used' } }]
    const whole = [{ name: 'k', secretRef: { name: 's' } }]
    const before = [await hash(keyed), await hash(whole)]
    putSecret('s', { used: 'a', other: 'b' })
    const after = [await hash(keyed), await hash(whole)]
    expect(after.map((one, index) => one === before[index])).toEqual([true, false])
  })

  it('changes with the spec of a Target and with its Secret, even when the Secret is created later', async () => {
    put('targets', 'cluster', { spec: { type: 't', secretRef: { name: 's', key: 'kubeconfig' } } })
    const hashes = [await hash([], [cluster])]
    putSecret('s', { kubeconfig: 'a', other: 'a' })
    hashes.push(await hash([], [cluster]))
    putSecret('s', { kubeconfig: 'b', other: 'a' })
    hashes.push(await hash([], [cluster]))
    put('targets', 'cluster', { spec: { type: 't', config: {} } })
    hashes.push(await hash([], [cluster]))
    expect(new Set(hashes).size).toBe(4)
    put('targets', 'cluster', { spec: { type: 't', config: {} } }, { labels: { x: 'y' } })
    expect(await hash([], [cluster])).toBe(hashes[3])
  })

  it('differs for each content key and without a content key', async () => {
    put('dataobjects', 'size', { data: 1 })
    const hashes = [undefined, Buffer.alloc(32, 1), Buffer.alloc(32, 2)].map((key) => hash([size], [], key))
    const differing = await Promise.all(hashes)
    expect(new Set(differing).size).toBe(3)
    for (const one of differing) expect(one).toMatch(/^[0-9a-f]{40}$/)
  })
})

describe('loading imports', () => {
  it('reads each object once', async () => {
    putSecret('s', { a: '1', b: '2' })
    put('targets', 'cluster', { spec: { type: 't', secretRef: { name: 's' } } })
    const data = ['a', 'b'].map((key) => ({ name: key, secretRef: { name: 's', key } }))
    const targets = [cluster, { name: 'twice', targets: ['cluster', 'cluster'] }]
    const loaded = await load(data, targets)
    expect(loaded.data).toEqual({ a: 1, b: 2 })
    expect(loaded.count).toBe(4)
    expect(api.requests.toSorted()).toEqual(['GET secrets/s', 'GET targets/cluster'])
  })

  it('reads 200 objects', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `many-${index}`)
    for (const [index, name] of names.entries()) put('dataobjects', name, { data: index })
    const loaded = await load(names.map((name) => ({ name, dataRef: name })))
    expect(loaded).toMatchObject({
      count: 200,
      data: Object.fromEntries(names.map((name, index) => [name, index])),
    })
    expect(api.requests).toHaveLength(200)
    const [dataObjects] = copies({ data: loaded.data, targetObjects: {} })
    expect(dataObjects?.objects.map(({ content }) => content)).toEqual(names.map((_, index) => ({ data: index })))
  })

  it('omits the managedFields and the resourceVersion of a Target', async () => {
    put('targets', 'cluster', { spec: { type: 't' } }, { managedFields: [{ manager: 'm' }], labels: { a: 'b' } })
    const { targets } = await load([], [cluster])
    expect(targets['cluster']).toMatchObject({ target: { metadata: { name: 'cluster', labels: { a: 'b' } } } })
    expect(JSON.stringify(targets)).not.toMatch(/managedFields|resourceVersion/)
  })

  it('fails with the names of all missing objects and of the imports that refer to them', async () => {
    putSecret('s', { a: '1' })
    const missing = load(
      [size, { name: 'key', secretRef: { name: 's', key: 'b' } }],
      [{ name: 'stages', targetMap: { dev: 'dev', prod: 'prod' } }],
    )
    await expect(missing).rejects.toMatchObject({
      type: 'ImportNotFound',
      nonRetryable: true,
      message: [
        'spec.imports.data[0] "size": DataObject "n/size" does not exist; create it',
        'spec.imports.data[1] "key": Secret "n/s" has no key "b"; add it',
        'spec.imports.targets[0] "stages": Target "n/dev" does not exist; create it',
        'spec.imports.targets[0] "stages": Target "n/prod" does not exist; create it',
      ].join('; '),
    })
  })

  it('suggests the Target with a similar name', async () => {
    put('targets', 'cluster', { spec: { type: 't' } })
    await expect(load([], [{ name: 'cluster', target: 'clusterr' }])).rejects.toThrow(
      'spec.imports.targets[0] "cluster": Target "n/clusterr" does not exist; did you mean "cluster"?',
    )
  })

  it('fails with the status 503 of an unavailable API server, and does not report a missing object', async () => {
    api.intercept = () => refusal(503, 'ServiceUnavailable')
    await expect(load([size])).rejects.toMatchObject({ status: 503 })
  })

  it('reads no Secret for a Target whose secretRef has an invalid name', async () => {
    put('targets', 'cluster', { spec: { type: 't', secretRef: { name: '..' } } })
    await load([], [cluster])
    expect(api.requests).toEqual(['GET targets/cluster'])
  })
})

describe('an entry of a Secret', () => {
  const entry = async (text: string) => {
    putSecret('s', { k: text })
    return await load([{ name: 'a', secretRef: { name: 's', key: 'k' } }])
  }

  it.each([
    ['42', 42],
    ['"42"', '42'],
    ['foo', 'foo'],
    ['', null],
    ['{ a: [1, yes] }', { a: [1, true] }],
    // Only the first document of a stream counts, as for Go's YAML decoder.
    ['a\n---\nb', 'a'],
  ])('is YAML: %j', async (text, value) => {
    expect((await entry(text)).data).toEqual({ a: value })
  })

  it.each([
    ['is malformed', `[${CANARY}`],
    ['is nested too deeply', '['.repeat(2000) + ']'.repeat(2000)],
    ['expands to a large text by aliases', `a: &a "${'x'.repeat(200_000)}"\nb: [${Array(50).fill('*a').join(', ')}]`],
  ])('that %s is refused, and the error does not quote it', async (_, text) => {
    const error: unknown = await entry(text).then(
      () => undefined,
      (rejected: unknown) => rejected,
    )
    expect(error).toMatchObject({ type: 'ERR_CONFIGURATION_PROBLEM', nonRetryable: true })
    const { message } = error as Error
    expect(message).toMatch(/^spec\.imports\.data\[0\] "a": Secret "n\/s": /)
    expect(message).not.toContain(CANARY)
    expect(message.length).toBeLessThan(300)
  })

  it('may have the key __proto__, which does not change the prototype of the value', async () => {
    putSecret('s', { ['__proto__']: 'x', b: '1' })
    const { data } = await load([{ name: 'a', secretRef: { name: 's' } }])
    expect(JSON.stringify(data)).toBe('{"a":{"__proto__":"x","b":1}}')
  })
})

describe('an entry of a ConfigMap', () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const imported = async (reference: object) => {
    put('configmaps', 'c', { data: { a: '1' }, binaryData: { b: base64('{ x: [2, ü] }'), c: base64('- 3') } })
    return (await load([{ name: 'v', configMapRef: reference }])).data['v']
  }

  it('is parsed as YAML from data and from binaryData, alone and together with the other entries', async () => {
    expect(await imported({ name: 'c', key: 'a' })).toBe(1)
    expect(await imported({ name: 'c', key: 'b' })).toEqual({ x: [2, 'ü'] })
    expect(await imported({ name: 'c' })).toEqual({ a: 1, b: { x: [2, 'ü'] }, c: [3] })
    await expect(imported({ name: 'c', key: 'd' })).rejects.toThrow('ConfigMap "n/c" has no key "d"; add it')
  })

  it('changes the hash of the imports when it is in binaryData, too', async () => {
    const hashOf = async (text: string) => {
      put('configmaps', 'c', { binaryData: { b: base64(text) } })
      return (await load([{ name: 'v', configMapRef: { name: 'c' } }])).hash
    }
    expect(await hashOf('1')).not.toBe(await hashOf('2'))
  })
})

type Imports = NonNullable<InstallationSpec['imports']>
type DataImport = NonNullable<Imports['data']>[number]
type TargetImport = NonNullable<Imports['targets']>[number]

const sources = (imports: Imports) => importSources({ imports }, '')
const ofData = (one: Partial<DataImport>) => sources({ data: [{ name: 'a', ...one }] })
const ofTargets = (one: Partial<TargetImport>) => sources({ targets: [{ name: 'a', ...one }] })

describe('the sources of imports of a root', () => {
  it('may be absent', () => {
    expect(importSources({}, '')).toEqual({ data: [], targets: [] })
  })

  it('have the referenced name as object name, without "#", or its hash if it is no valid object name', () => {
    const objects = ['plain', '#global', 'Not A Name'].map((dataRef) => ofData({ dataRef }).data[0]?.object)
    expect(objects).toEqual(['plain', 'global', dataObjectName('', 'Not A Name')])
  })

  it('have a key if the import is one entry, and no key if it is the whole object', () => {
    const keyed = ofData({ secretRef: { name: 's', key: 'k' } }).data[0]
    expect(keyed).toMatchObject({ watched: { kind: 'Secret' }, object: 's', key: 'k' })
    const whole = ofData({ configMapRef: { name: 'c' } }).data[0]
    expect(whole).toMatchObject({ watched: { kind: 'ConfigMap' }, object: 'c', key: undefined })
  })

  it('treat an empty string as a missing field, as the Go implementation does', () => {
    const empty = { target: '', targetListRef: '', targetMapRef: '' }
    expect(ofTargets({ ...empty, targets: ['one'] }).targets[0]?.names).toEqual({ list: ['one'] })
    expect(ofTargets({ ...empty, targetMap: {} }).targets[0]?.names).toEqual({ map: {} })
    const { data } = sources({ data: [{ name: 'a', dataRef: '', secretRef: { name: 's' } }] })
    expect(data).toMatchObject([{ watched: { kind: 'Secret' }, object: 's' }])
  })

  it('treat an empty list and an empty map of targets as values', () => {
    expect(ofTargets({ targets: [] }).targets[0]?.names).toEqual({ list: [] })
    expect(ofTargets({ targetMap: {} }).targets[0]?.names).toEqual({ map: {} })
    expect(ofTargets({ targetMap: { dev: 'one' } }).targets[0]?.names).toEqual({ map: { dev: 'one' } })
  })
})

describe('an import that is malformed', () => {
  const expectRejection = (imports: Imports, ...messages: readonly string[]) => {
    expect(() => sources(imports)).toThrow(
      expect.objectContaining({ type: 'ERR_CONFIGURATION_PROBLEM', nonRetryable: true, message: messages.join(' | ') }),
    )
  }
  const place = 'spec.imports.targets[0] "a": '
  const exactlyOne = 'expected exactly one of target, targets, targetListRef, targetMap, targetMapRef'

  it.each<[Partial<TargetImport>, string]>([
    [{}, `${place}found no source; ${exactlyOne}`],
    [{ target: 'x', targets: [] }, `${place}found target and targets; ${exactlyOne}`],
    [{ targetListRef: 'x' }, `${place}found targetListRef, which only sub-installations may use; expected targets`],
    [{ targetMapRef: 'x' }, `${place}found targetMapRef, which only sub-installations may use; expected targetMap`],
    [{ target: '' }, `${place}found no source; ${exactlyOne}`],
    [{ targets: ['x', ''] }, `${place}targets[1]: found nothing; expected the name of an object`],
    [{ targetMap: { k: '#..' } }, `${place}targetMap.k: found "#.."; expected the name of an object`],
    [
      { targetMap: { Dev: 'x' } },
      `${place}targetMap: found key "Dev"; expected at most 63 lower-case letters, digits, dots and dashes`,
    ],
  ])('of a Target is rejected with its place and the expected value: %j', (given, message) => {
    expectRejection({ targets: [{ name: 'a', ...given }] }, message)
  })

  it('of data with two sources is rejected, also if the object was stored before the CRD rejected it', () => {
    expectRejection(
      { data: [{ name: 'a', dataRef: 'x', secretRef: { name: 's' } }] },
      'spec.imports.data[0] "a": found dataRef and secretRef; expected exactly one of dataRef, secretRef, configMapRef',
    )
  })

  it('is rejected if the name of its object would change the path of the API request', () => {
    for (const name of ['..', '../x', 'a/b', 'a%2fb', '.']) {
      const message = `spec.imports.data[0] "a": secretRef.name: found "${name}"; expected the name of an object`
      expectRejection({ data: [{ name: 'a', secretRef: { name } }] }, message)
    }
  })

  it('is reported with all others, and a name that occurs twice with both places', () => {
    expectRejection(
      {
        data: [
          { name: '', dataRef: 'x' },
          { name: 'a', dataRef: 'x' },
        ],
        targets: [{ name: 'a', target: 'x' }, { name: 'b' }],
      },
      'spec.imports.data[0]: name is missing; add it',
      `${place}found the name of spec.imports.data[1] "a"; expected unique names`,
      `spec.imports.targets[1] "b": found no source; ${exactlyOne}`,
    )
  })
})

const SUBJECT = { kind: 'Installation', uid: 'u', namespace: 'n', name: 'root' }
const PREFIX = 'data.landscaper.gardener.cloud'
const target = (name: string) => ({ metadata: { name, namespace: 'n' }, spec: { type: 't', config: name } })
const copies = (imports: Parameters<typeof importCopies>[2], spec: Parameters<typeof importCopies>[3] = {}) =>
  importCopies(SUBJECT, 'job', imports, spec)
const named = (name: string) => dataObjectName('Inst.root', name)

describe('the copies of imports', () => {
  it('are named and labelled by scope and import', () => {
    const [data, targets] = copies({ data: { size: { cpu: 1 } }, targetObjects: { one: { target: target('x') } } })
    const labels = (key: string) => ({
      [`${PREFIX}/context`]: 'Inst.root',
      [`${PREFIX}/source`]: 'Inst.root',
      [`${PREFIX}/sourceType`]: 'import',
      [`${PREFIX}/key`]: key,
      [`${PREFIX}/jobid`]: 'job',
    })
    expect(data?.objects).toEqual([
      { name: named('size'), labels: labels('size'), source: 'default', content: { data: { cpu: 1 } } },
    ])
    expect(targets?.objects).toEqual([
      { name: named('one'), labels: labels('one'), content: { spec: { type: 't', config: 'x' } } },
    ])
  })

  it.each([
    [{ imports: { data: [{ name: 'size', configMapRef: { name: 'sizes', key: 'cpu' } }] } }, 'ConfigMap/sizes/cpu'],
    [{ imports: { data: [{ name: 'size', secretRef: { name: 'creds', key: 'cpu' } }] } }, 'Secret/creds/cpu'],
    [{ imports: { data: [{ name: 'size', dataRef: 'region' }] } }, 'DataObject/region'],
    [
      {
        imports: { data: [{ name: 'size', configMapRef: { name: 'sizes', key: 'cpu' } }] },
        importDataMappings: { size: '(( other ))' },
      },
      'importDataMappings',
    ],
    [{}, 'default'],
  ])('have the source of their value: %j', (spec, source) => {
    expect(copies({ data: { size: 1 }, targetObjects: {} }, spec)[0]?.objects[0]?.source).toBe(source)
  })

  it('exist once for each element of a list or map of Targets', () => {
    const [, targets] = copies({
      data: {},
      targetObjects: { list: { list: [target('a'), target('b')] }, map: { map: { dev: target('c') } } },
    })
    expect(
      targets?.objects.map(({ name, labels }) => [name, labels[`${PREFIX}/index`], labels[`${PREFIX}/targetmapkey`]]),
    ).toEqual([
      [named('list[0]'), '0', undefined],
      [named('list[1]'), '1', undefined],
      [named('map[dev]'), undefined, 'dev'],
    ])
  })

  it('do not exist for null values, but exist for false, 0 and the empty text', () => {
    const [data] = copies({ data: { nothing: null, no: false, zero: 0, text: '' }, targetObjects: {} })
    expect(data?.objects.map(({ content }) => content)).toEqual([{ data: false }, { data: 0 }, { data: '' }])
  })

  it('never have a name outside the scope', () => {
    const finalError = expect.objectContaining({ type: 'ERR_CONFIGURATION_PROBLEM', nonRetryable: true }) as Error
    expect(() => copies({ data: { '#theirs': 1 }, targetObjects: {} })).toThrow(finalError)
    expect(() => copies({ data: {}, targetObjects: { '#theirs': { list: [] } } })).toThrow(finalError)
  })
})
