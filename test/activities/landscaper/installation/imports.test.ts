// Reading imports from an API server: each object once, hashed by content, no value in a message.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LandscaperDeps } from '../../../../activities/landscaper/deps.ts'
import { loadImports } from '../../../../activities/landscaper/installation/imports.ts'
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

async function load(imported: readonly object[], targets: readonly object[] = [], contentKey?: Buffer) {
  const object = { metadata: { name: 'i', namespace: 'n' }, spec: { imports: { data: imported, targets } } }
  const installation = storedAs(installationKind, object)
  // All that reading needs.
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
    const found = await Promise.all(hashes)
    expect(new Set(found).size).toBe(3)
    for (const one of found) expect(one).toMatch(/^[0-9a-f]{40}$/)
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
        'spec.imports.data[0] "size": found no DataObject n/size',
        'spec.imports.data[1] "key": found no key b in Secret n/s',
        'spec.imports.targets[0] "stages": found no Target n/dev',
        'spec.imports.targets[0] "stages": found no Target n/prod',
      ].join('; '),
    })
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
    // As Go's decoder does: the first document.
    ['a\n---\nb', 'a'],
  ])('is YAML: %j', async (text, value) => {
    expect((await entry(text)).data).toEqual({ a: value })
  })

  it.each([
    ['is malformed', `[${CANARY}`],
    ['is nested too deeply', '['.repeat(2000) + ']'.repeat(2000)],
    ['expands to very many values by aliases', bomb(9)],
    ['expands to a large text by aliases', `a: &a "${'x'.repeat(200_000)}"\nb: [${Array(50).fill('*a').join(', ')}]`],
  ])('that %s is refused, and the error does not quote it', async (_, text) => {
    const refused = await entry(text).then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(refused).toMatchObject({ type: 'ERR_CONFIGURATION_PROBLEM', nonRetryable: true })
    const { message } = refused as Error
    expect(message).toMatch(/^spec\.imports\.data\[0\] "a": Secret n\/s: /)
    expect(message).not.toContain(CANARY)
    expect(message.length).toBeLessThan(300)
  })

  it('may be called __proto__ without harm', async () => {
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
    await expect(imported({ name: 'c', key: 'd' })).rejects.toThrow('found no key d in ConfigMap n/c')
  })

  it('changes the hash of the imports when it is in binaryData, too', async () => {
    const hashOf = async (text: string) => {
      put('configmaps', 'c', { binaryData: { b: base64(text) } })
      return (await load([{ name: 'v', configMapRef: { name: 'c' } }])).hash
    }
    expect(await hashOf('1')).not.toBe(await hashOf('2'))
  })
})

/** Each level refers ten times to the one before. */
function bomb(levels: number): string {
  const lines = ['l0: &l0 x']
  for (let level = 1; level <= levels; level++) {
    const aliases = Array(10).fill(`*l${level - 1}`)
    lines.push(`l${level}: &l${level} [${aliases.join(', ')}]`)
  }
  return lines.join('\n')
}
