// What a TargetSync makes of sources that mean no good, and of writes that fail in between: two small servers, and a journal that keeps nothing.
// What it makes of others is in test/env/target-sync.test.ts.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Deps } from '../../../../activities/deps.ts'
import { createTargetAccess } from '../../../../activities/landscaper/deploy/target/open-target.ts'
import type { LandscaperDeps } from '../../../../activities/landscaper/deps.ts'
import { sourceEntries } from '../../../../activities/landscaper/target-sync/source-entries.ts'
import { removeTargets, syncTargets } from '../../../../activities/landscaper/target-sync/sync-targets.ts'
import { createKubeClient, type KubeClient, type KubeObject } from '../../../../activities/kube/client.ts'
import { ObjectCache } from '../../../../activities/kube/object-cache.ts'
import { TemplateError } from '../../../../activities/landscaper/render/render-errors.ts'
import type { ActivityContext } from '../../../../workflows/kit/index.ts'
import { refusal, type Request, TinyApi } from '../../kube/tiny-api.ts'
import { landscaperDeps } from '../landscaper-deps.ts'
import { dataOf } from '../tenant-data.ts'

let own: TinyApi
let source: TinyApi
let kube: KubeClient
let deps: LandscaperDeps
let nowMs: number

const SECRETS = '/api/v1/namespaces/n/secrets'
const TARGETS = '/apis/landscaper.gardener.cloud/v1alpha1/namespaces/n/targets'
const OFFERED = '/api/v1/namespaces/garden-x/secrets'
const SHOOTS = '/apis/core.gardener.cloud/v1beta1/namespaces/garden-x/shoots'
const UNTIL = 'landscaper.gardener.cloud/pawl-credentials-until'
const HOUR_MS = 60 * 60_000
const inBase64 = (text: string) => Buffer.from(text).toString('base64')

beforeEach(async () => {
  ;[own, source] = await Promise.all([TinyApi.start(), TinyApi.start()])
  nowMs = Date.parse('2030-01-01T00:00:00Z')
  kube = createKubeClient({ kubeconfig: own.kubeconfig })
  const now = () => new Date(nowMs)
  const journal = { begin: () => Promise.resolve('begun'), finish: () => undefined, flush: () => Promise.resolve() }
  const base = { cluster: 'local', kube, journal, objects: new ObjectCache(), now, subjectKinds: {} }
  const targets = createTargetAccess({ kube, data: dataOf, now, allow: ['127.0.0.1'] })
  deps = landscaperDeps(base as unknown as Deps, { targets })
  put(own, `${SECRETS}/access`, { data: { kubeconfig: inBase64(source.kubeconfig) } })
})
afterEach(async () => {
  await Promise.all([deps.landscaper.targets.close(), kube.close()])
  await Promise.all([own.stop(), source.stop()])
})

function put(api: TinyApi, path: string, object: object, metadata: object = {}): void {
  const [name = '', , namespace = ''] = path.split('/').reverse()
  api.put(path, { metadata: { name, namespace, uid: `uid-${name}`, ...metadata }, ...object })
}
const offer = (name: string) => put(source, `${OFFERED}/${name}`, { data: { kubeconfig: inBase64(`config ${name}`) } })

const subject = {
  kind: 'TargetSync',
  group: 'landscaper.gardener.cloud',
  uid: 'uid-sync',
  namespace: 'n',
  name: 'sync',
}
const by = { workflowID: 'targetSync/n/sync/uid-sync', runID: 'run', pass: 1 }
const context = () => ({ subject, parts: deps, signal: new AbortController().signal }) as unknown as ActivityContext
const secretsOf = { sourceNamespace: 'garden-x', secretRef: { name: 'access' }, secretNameExpression: '^c' }

async function sync(spec: object = {}): Promise<string> {
  const { errors } = await syncTargets({ by, spec: { ...secretsOf, ...spec }, rotates: false }, context())
  return errors.join('\n')
}
const names = (collection: string) =>
  [...own.objects.keys()].filter((path) => path.startsWith(`${collection}/`)).map((path) => path.split('/').at(-1))
const annotationsOf = (path: string) => own.objects.get(path)?.metadata.annotations ?? {}

/** As `own`, but for requests of one method below a path. */
function refuse(method: string, path: string): void {
  own.intercept = (request: Request) =>
    request.method === method && request.path.startsWith(path) ? refusal(403, 'Forbidden') : undefined
}

describe('of a source with more entries than selected', () => {
  /** Pages for a client that reads as they come. */
  function sourceOf(count: number, bytes: number, nameOf: (index: number) => string) {
    const kubeconfig = 'a'.repeat(bytes)
    const request = (_method: string, _path: string, { query }: { query: Record<string, string> }) => {
      const [from, limit] = [Number(query['continue'] ?? 0), Number(query['limit'])]
      const items = Array.from({ length: Math.min(limit, count - from) }, (_, index) => ({
        metadata: { name: nameOf(from + index) },
        data: { kubeconfig },
      }))
      const next = from + items.length
      return Promise.resolve({ metadata: next < count ? { continue: String(next) } : {}, items })
    }
    return { cluster: { kube: { request } }, signal: new AbortController().signal } as never
  }

  it('only matching ones count, up to 32 MiB', async () => {
    const spec = { ...secretsOf, secretNameExpression: '^c0$' }
    const oneOf = sourceOf(100, 1024 * 1024, (index) => `c${index}`)
    expect(await sourceEntries(deps, { namespace: 'n', spec }, oneOf)).toMatchObject([{ name: 'c0' }])
    const all = sourceEntries(deps, { namespace: 'n', spec: secretsOf }, oneOf)
    await expect(all).rejects.toThrow('spec.secretNameExpression: found more than 32 MiB of kubeconfigs')
  })

  it('at most 1000 are accepted', async () => {
    const spec = { ...secretsOf, secretNameExpression: '*' }
    const many = sourceEntries(
      deps,
      { namespace: 'n', spec },
      sourceOf(1001, 1, (index) => `c${index}`),
    )
    await expect(many).rejects.toThrow('found more than 1000 names that match')
  })
})

describe('an expression', () => {
  it('is reported as invalid, or as too slow', async () => {
    offer('c1')
    expect(await sync({ secretNameExpression: '(' })).toContain('found "(", expected a regular expression (RE2), or *')
    const render = () => Promise.reject(new TemplateError('TemplateTimeout', 'not rendered within 1 ms'))
    const templates = { of: () => ({ render }) }
    deps = { ...deps, landscaper: { ...deps.landscaper, templates: templates as never } }
    const told = await sync()
    expect(told).toContain('not rendered within 1 ms')
    expect(told).not.toContain('expected a regular expression')
  })
})

describe('credentials', () => {
  it.each([SECRETS, TARGETS])('of what has vanished go in the end when %s could not be deleted', async (path) => {
    offer('c1')
    expect(await sync()).toBe('')
    source.objects.delete(`${OFFERED}/c1`)
    refuse('DELETE', path)
    expect(await sync()).toContain('target c1: DELETE')
    expect(names(TARGETS)).toEqual(['c1'])
    own.intercept = () => undefined
    expect(await sync()).toBe('')
    expect([names(TARGETS), names(SECRETS)]).toEqual([[], ['access']])
  })

  it('are removed with the TargetSync', async () => {
    offer('c1')
    await sync()
    refuse('DELETE', SECRETS)
    await expect(removeTargets({ by }, context())).rejects.toThrow('403')
    own.intercept = () => undefined
    await removeTargets({ by }, context())
    expect([names(TARGETS), names(SECRETS)]).toEqual([[], ['access']])
  })

  it('are removed if their Target could not be created, or belongs to another owner', async () => {
    offer('c1')
    offer('c2')
    put(own, `${TARGETS}/c2`, {})
    refuse('POST', TARGETS)
    const told = await sync()
    expect(told).toContain('target c1: POST')
    expect(told).toContain('target c2: Target n/c2: found one that no TargetSync has made')
    expect(names(SECRETS)).toEqual(['access'])
  })

  it('are removed if their Target now references the source', async () => {
    offer('c1')
    await sync()
    source.objects.delete(`${OFFERED}/c1`)
    expect(await sync({ createTargetToSource: true, targetToSourceName: 'c1' })).toBe('')
    expect([names(TARGETS), names(SECRETS)]).toEqual([['c1'], ['access']])
  })

  it('are rejected if the Target for the source has their name', async () => {
    offer('c1')
    const told = await sync({ createTargetToSource: true, targetToSourceName: 'c1' })
    expect(told).toContain('target c1: found the name of the Target for the source')
    expect(names(SECRETS)).toEqual(['access'])
    expect(own.objects.get(`${TARGETS}/c1`)).toMatchObject({ spec: { secretRef: { name: 'access' } } })
  })
})

describe('of a Shoot', () => {
  const spec = { secretNameExpression: '', shootNameExpression: '*' }
  let asked: number
  let kubeconfig: string
  let until: () => string
  beforeEach(() => {
    until = () => '2031-01-01T00:00:00Z'
    ;[asked, kubeconfig] = [0, inBase64('config')]
    put(source, `${SHOOTS}/berry`, {})
    source.intercept = ({ method }: Request) => {
      if (method !== 'POST') return undefined
      asked++
      return { status: 201, body: { status: { kubeconfig, expirationTimestamp: until() } } }
    }
  })

  it('with a future date are renewed, and the date is replaced, even by the same kubeconfig', async () => {
    await sync(spec)
    const target = own.objects.get(`${TARGETS}/berry`) as KubeObject
    const [annotation = ''] = Object.keys(annotationsOf(`${TARGETS}/berry`))
    const annotations = { [annotation]: '2999-01-01T00:00:00Z' }
    own.put(`${TARGETS}/berry`, { ...target, metadata: { ...target.metadata, annotations } })
    nowMs += HOUR_MS
    await sync(spec)
    await sync(spec)
    expect(asked).toBe(2)
    expect(annotationsOf(`${TARGETS}/berry`)).toEqual({
      [annotation]: new Date(nowMs).toISOString(),
      [UNTIL]: new Date(until()).toISOString(),
    })
  })

  it.each([
    ['a day', 24 * 60, 12 * 60],
    ['a year', 365 * 24 * 60, 12 * 60],
    ['an hour', 60, 30],
    ['ten minutes', 10, 4],
  ])('a kubeconfig that is good for %s is renewed in time', async (_, grantedMin, renewedMin) => {
    const grantedUntil = new Date(nowMs + grantedMin * 60_000).toISOString()
    until = () => grantedUntil
    await sync(spec)
    nowMs += (renewedMin - 1) * 60_000
    await sync(spec)
    expect(asked).toBe(1)
    nowMs += 60_000
    await sync(spec)
    expect(asked).toBe(2)
  })

  it('that have expired when they are issued are requested in each synchronization', async () => {
    until = () => new Date(nowMs - HOUR_MS).toISOString()
    await sync(spec)
    await sync(spec)
    expect(asked).toBe(2)
  })

  it('that are too large are rejected', async () => {
    kubeconfig = inBase64('a'.repeat(64 * 1024 + 1))
    expect(await sync(spec)).toContain('found a kubeconfig of 65537 bytes, expected at most 65536')
    expect(names(SECRETS)).toEqual(['access'])
  })
})
