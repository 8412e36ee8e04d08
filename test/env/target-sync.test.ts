// The Targets and Secrets that a TargetSync creates from a source cluster, also a malicious one: against two fake API
// servers (of the engine and of the source) and a real journal. Source: spec/landscaper.md 1.9.

import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, afterEach, describe, expect, inject, it } from 'vitest'
import { createTargetAccess } from '../../activities/landscaper/deploy/target/open-target.ts'
import type { LandscaperDeps } from '../../activities/landscaper/deps.ts'
import { TemplateError } from '../../activities/landscaper/render/render-errors.ts'
import { removeTargets, syncTargets } from '../../activities/landscaper/target-sync/sync-targets.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import type { ActivityContext } from '../../workflows/kit/index.ts'
import { refusal, type Request, TinyApi } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { landscaperDeps } from '../activities/landscaper/landscaper-deps.ts'
import { journalOf } from '../support/tenants/planted-secret.ts'
import { dataOf } from '../activities/landscaper/tenant-data.ts'

const stage = useWriteStage(inject('servers').databaseUrl)
let own: TinyApi
let source: TinyApi
let deps: LandscaperDeps
let nowMs: number

const SECRETS = '/api/v1/namespaces/n/secrets'
const TARGETS = '/apis/landscaper.gardener.cloud/v1alpha1/namespaces/n/targets'
const OFFERED = '/api/v1/namespaces/garden-x/secrets'
const SHOOTS = '/apis/core.gardener.cloud/v1beta1/namespaces/garden-x/shoots'
const UNTIL = 'landscaper.gardener.cloud/pawl-credentials-until'
const HOUR_MS = 60 * 60_000
const CANARY = 'kubeconfig-CANARY-'
const inBase64 = (text: string) => Buffer.from(text).toString('base64')

beforeEach(async () => {
  ;({ api: own } = stage())
  source = await TinyApi.start()
  nowMs = Date.parse('2030-01-01T00:00:00Z')
  const base = { ...stage().deps, now: () => new Date(nowMs) }
  const targets = createTargetAccess({ kube: base.kube, data: dataOf, now: base.now, allow: ['127.0.0.1'] })
  deps = landscaperDeps(base, { targets })
  put(own, `${SECRETS}/access`, { data: { kubeconfig: inBase64(source.kubeconfig) } })
})
afterEach(async () => {
  await deps.landscaper.targets.close()
  await source.stop()
})

function put(api: TinyApi, path: string, object: object, metadata: object = {}): void {
  const [name = '', , namespace = ''] = path.split('/').reverse()
  api.put(path, { metadata: { name, namespace, uid: `uid-${name}`, ...metadata }, ...object })
}
const offer = (name: string, data: object = { kubeconfig: inBase64(CANARY + name) }) =>
  put(source, `${OFFERED}/${name}`, { data })

const subject = {
  kind: 'TargetSync',
  group: 'landscaper.gardener.cloud',
  uid: 'uid-sync',
  namespace: 'n',
  name: 'sync',
}
const by = { workflowID: 'targetSync/n/sync/uid-sync', runID: 'run', pass: 1 }
const context = () => ({ subject, parts: deps, signal: new AbortController().signal }) as unknown as ActivityContext

const SPEC = { sourceNamespace: 'garden-x', secretRef: { name: 'access' }, secretNameExpression: '\\.kubeconfig$' }
const sync = async (spec: object = {}, rotates = false) =>
  await syncTargets({ by, spec: { ...SPEC, ...spec }, rotates }, context())
/** The errors of a synchronization of all Secrets of the source. */
const errorsOf = async (spec: object = {}) => (await sync({ secretNameExpression: '*', ...spec })).errors.join('\n')
const names = (collection: string) =>
  [...own.objects.keys()].filter((path) => path.startsWith(`${collection}/`)).map((path) => path.split('/').at(-1))
const found = (path: string) => own.objects.get(path) as Record<string, unknown> & KubeObject
/** The Targets and the Secrets of the namespace. */
const both = () => [names(TARGETS), names(SECRETS)]

/** The API server of the engine refuses requests of one method below a path. */
function refuse(method: string, path: string): void {
  own.intercept = (request: Request) =>
    request.method === method && request.path.startsWith(path) ? refusal(403, 'Forbidden') : undefined
}

describe('Secrets of the source whose names match', () => {
  it('become one Target and one Secret each, and other Secrets are ignored', async () => {
    offer('a.kubeconfig', { kubeconfig: inBase64(`${CANARY}a`), password: inBase64('x') })
    offer('b.kubeconfig')
    offer('a.token')
    offer('c.kubeconfig', { other: inBase64('x') })
    expect(await sync()).toEqual({ errors: [], rotated: false })
    expect(names(TARGETS)).toEqual(expect.arrayContaining(['a.kubeconfig', 'b.kubeconfig']))
    expect(names(TARGETS)).toHaveLength(2)
    expect(found(`${TARGETS}/a.kubeconfig`)).toMatchObject({
      metadata: { labels: { 'landscaper.gardener.cloud/targetsync': 'ok' } },
      spec: { secretRef: { name: 'a.kubeconfig', key: 'kubeconfig' } },
    })
    expect(found(`${SECRETS}/a.kubeconfig`)['data']).toEqual({ kubeconfig: inBase64(`${CANARY}a`) })
  })

  it('are synchronized when they change or are deleted, and cause no write when they are unchanged', async () => {
    offer('a.kubeconfig')
    offer('b.kubeconfig')
    await sync()
    own.requests.length = 0
    expect(await sync()).toEqual({ errors: [], rotated: false })
    expect(own.requests.filter((one) => !one.startsWith('GET'))).toEqual([])
    offer('a.kubeconfig', { kubeconfig: inBase64('another') })
    source.objects.delete(`${OFFERED}/b.kubeconfig`)
    await sync()
    expect(names(TARGETS)).toEqual(['a.kubeconfig'])
    expect(names(SECRETS)).toEqual(expect.arrayContaining(['access', 'a.kubeconfig']))
    expect(names(SECRETS)).toHaveLength(2)
    expect(found(`${SECRETS}/a.kubeconfig`)['data']).toEqual({ kubeconfig: inBase64('another') })
  })

  it('do not show their values in any row of the journal and in no error, also when the API server quotes them', async () => {
    const value = inBase64(`${CANARY}a.kubeconfig`)
    const quoting = { kind: 'Status', status: 'Failure', reason: 'BadRequest', message: `${value} is wrong` }
    own.intercept = ({ method, path }) =>
      method === 'POST' && path.includes('/secrets') ? { status: 400, body: quoting } : undefined
    offer('a.kubeconfig')
    const { errors } = await sync()
    expect(errors.join()).toContain('*** is wrong')
    expect(errors.join()).not.toContain(value)
    own.intercept = () => undefined
    await sync()
    await deps.journal.flushAll()
    const rows = await journalOf(stage().database)
    expect(rows).toContain('a.kubeconfig')
    expect(rows).not.toContain(inBase64(CANARY).slice(0, 16))
  })

  it('are all Secrets with *, and objects that no TargetSync created stay unchanged', async () => {
    offer('mine')
    offer('other')
    offer('access')
    put(own, `${SECRETS}/mine`, { data: {} })
    const { errors } = await sync({ secretNameExpression: '*' })
    expect(errors).toHaveLength(2)
    expect(errors.join()).toContain(
      'target mine: Secret "n/mine" exists and no TargetSync created it; rename or delete it',
    )
    expect(errors.join()).toContain(
      'target access: found the name in spec.secretRef.name; use another name, because Pawl would overwrite its Secret',
    )
    expect(names(TARGETS)).toEqual(['other'])
    expect(found(`${SECRETS}/mine`)['data']).toEqual({})
  })
})

describe('a worker that dies at any of its writes', () => {
  /** All objects, without their resourceVersion. */
  const state = () =>
    [...own.objects].map(([path, object]) => {
      return { path, object: { ...object, metadata: { ...object.metadata, resourceVersion: '' } } }
    })
  const sorted = () => state().sort((left, right) => (left.path < right.path ? -1 : 1))
  /** Waits until the other parallel entries of the dead worker are answered or silenced, so that none writes later. */
  const noMoreRequests = async () => {
    let count: number
    do {
      count = own.requests.length
      await sleep(30)
    } while (own.requests.length > count)
  }

  it('leaves a state that the next worker brings to the same result', async () => {
    for (const name of ['changed.kubeconfig', 'gone.kubeconfig']) offer(name)
    await sync()
    offer('new.kubeconfig')
    offer('changed.kubeconfig', { kubeconfig: inBase64('another') })
    source.objects.delete(`${OFFERED}/gone.kubeconfig`)
    const before = new Map(own.objects)
    await sync()
    const wanted = sorted()
    let deaths = 0
    for (let isOver = false; !isOver; deaths++) {
      own.objects.clear()
      for (const [path, object] of before) own.objects.set(path, object)
      let left = deaths
      // From one write on, the API server does not answer this worker.
      const died = new Promise<'died'>((resolve) => {
        own.intercept = ({ method }) => {
          if (method === 'GET' || left-- > 0) return undefined
          resolve('died')
          return 'silence'
        }
      })
      isOver = (await Promise.race([died, sync().then(() => 'ended')])) === 'ended'
      await noMoreRequests()
      own.intercept = () => undefined
      expect(await sync()).toEqual({ errors: [], rotated: false })
      expect(sorted(), `death ${deaths}`).toEqual(wanted)
    }
    expect(deaths).toBeGreaterThan(5)
  })
})

describe('a source that cannot be read', () => {
  it('causes no deletion of a Target', async () => {
    offer('a.kubeconfig')
    await sync()
    source.intercept = () => refusal(403, 'Forbidden')
    const { errors } = await sync()
    expect(errors).toEqual([expect.stringContaining('source: GET /api/v1/namespaces/garden-x/secrets: 403')])
    expect(names(TARGETS)).toEqual(['a.kubeconfig'])
  })

  it.each([
    [{ secretRef: { name: 'none' } }, 'source: Secret "n/none" does not exist'],
    [{ secretNameExpression: '(' }, 'spec.secretNameExpression: found "("; expected a regular expression (RE2), or *'],
    [{ shootNameExpression: 'x' }, 'found secretNameExpression and shootNameExpression; expected one of them'],
  ])('is reported, %#', async (spec, message) => {
    offer('a.kubeconfig')
    expect((await sync(spec)).errors.join()).toContain(message)
  })

  it('is reported when its expression takes too long', async () => {
    offer('a.kubeconfig')
    const render = () => Promise.reject(new TemplateError('TemplateTimeout', 'not rendered within 1 ms'))
    const templates = { of: () => ({ render }) }
    deps = { ...deps, landscaper: { ...deps.landscaper, templates: templates as never } }
    const errors = (await sync()).errors.join()
    expect(errors).toContain('not rendered within 1 ms')
    expect(errors).not.toContain('expected a regular expression')
  })
})

describe('Shoots of the source', () => {
  const spec = { secretNameExpression: '', shootNameExpression: '^be' }
  let asked: string[]
  let kubeconfig: (count: number) => string
  let until: () => string
  beforeEach(() => {
    asked = []
    kubeconfig = (count) => `${CANARY}${count}`
    until = () => '2031-01-01T00:00:00Z'
    put(source, `${SHOOTS}/berry`, {})
    put(source, `${SHOOTS}/cherry`, {})
    source.intercept = ({ method, path, body }: Request) => {
      if (method !== 'POST') return undefined
      asked.push(`${path} ${JSON.stringify(body['spec'])}`)
      const status = { kubeconfig: inBase64(kubeconfig(asked.length)), expirationTimestamp: until() }
      return { status: 201, body: { status } }
    }
  })

  it.each([
    ['a day', 24 * 60, 12 * 60],
    ['a year', 365 * 24 * 60, 12 * 60],
    ['an hour', 60, 30],
    ['ten minutes', 10, 4],
  ])(
    'become Targets with a kubeconfig that is renewed in time when it is valid for %s',
    async (_, grantedMin, renewedMin) => {
      const grantedUntil = new Date(nowMs + grantedMin * 60_000).toISOString()
      until = () => grantedUntil
      expect(await sync(spec)).toEqual({ errors: [], rotated: false })
      expect(names(TARGETS)).toEqual(['berry'])
      nowMs += (renewedMin - 1) * 60_000
      await sync(spec)
      expect(asked).toEqual([`${SHOOTS}/berry/adminkubeconfig {"expirationSeconds":86400}`])
      nowMs += 60_000
      await sync(spec)
      expect(asked).toHaveLength(2)
      expect(found(`${SECRETS}/berry`)['data']).toEqual({ kubeconfig: inBase64(`${CANARY}2`) })
    },
  )

  it('are renewed when their date of issue is in the future, and the date is replaced, even by the same kubeconfig', async () => {
    kubeconfig = () => 'config'
    await sync(spec)
    const target = found(`${TARGETS}/berry`)
    const [annotation = ''] = Object.keys(target.metadata.annotations ?? {})
    const annotations = { [annotation]: '2999-01-01T00:00:00Z' }
    own.put(`${TARGETS}/berry`, { ...target, metadata: { ...target.metadata, annotations } })
    nowMs += HOUR_MS
    await sync(spec)
    await sync(spec)
    expect(asked).toHaveLength(2)
    expect(found(`${TARGETS}/berry`).metadata.annotations).toEqual({
      [annotation]: new Date(nowMs).toISOString(),
      [UNTIL]: new Date(until()).toISOString(),
    })
  })

  it('have their kubeconfig requested in each synchronization when it has expired at its issue', async () => {
    until = () => new Date(nowMs - HOUR_MS).toISOString()
    await sync(spec)
    await sync(spec)
    expect(asked).toHaveLength(2)
  })

  it('are rejected with a kubeconfig that is too large', async () => {
    kubeconfig = () => 'a'.repeat(64 * 1024 + 1)
    expect(await errorsOf(spec)).toContain('found a kubeconfig of 65537 bytes; expected at most 65536')
    expect(names(SECRETS)).toEqual(['access'])
  })
})

describe('credentials', () => {
  it.each([SECRETS, TARGETS])('of what has vanished go in the end when %s could not be deleted', async (path) => {
    offer('c1')
    expect(await errorsOf()).toBe('')
    source.objects.delete(`${OFFERED}/c1`)
    refuse('DELETE', path)
    expect(await errorsOf()).toContain('target c1: DELETE')
    expect(names(TARGETS)).toEqual(['c1'])
    own.intercept = () => undefined
    expect(await errorsOf()).toBe('')
    expect(both()).toEqual([[], ['access']])
  })

  it('are removed if their Target could not be created, or belongs to another owner', async () => {
    offer('c1')
    offer('c2')
    put(own, `${TARGETS}/c2`, {})
    refuse('POST', TARGETS)
    const told = await errorsOf()
    expect(told).toContain('target c1: POST')
    expect(told).toContain('target c2: Target "n/c2" exists and no TargetSync created it; rename or delete it')
    expect(names(SECRETS)).toEqual(['access'])
  })

  it('are removed if their Target now references the source', async () => {
    offer('c1')
    await errorsOf()
    source.objects.delete(`${OFFERED}/c1`)
    expect(await errorsOf({ createTargetToSource: true, targetToSourceName: 'c1' })).toBe('')
    expect(both()).toEqual([['c1'], ['access']])
  })

  it('are rejected if the Target for the source has their name', async () => {
    offer('c1')
    const told = await errorsOf({ createTargetToSource: true, targetToSourceName: 'c1' })
    expect(told).toContain('target c1: found the name of the Target for the source')
    expect(names(SECRETS)).toEqual(['access'])
    expect(own.objects.get(`${TARGETS}/c1`)).toMatchObject({ spec: { secretRef: { name: 'access' } } })
  })
})

describe('a TargetSync', () => {
  it('creates a Target for the source itself on request, and keeps its Secret when the Target is deleted', async () => {
    await sync({ createTargetToSource: true, targetToSourceName: 'garden' })
    expect(found(`${TARGETS}/garden`)).toMatchObject({ spec: { secretRef: { name: 'access', key: 'kubeconfig' } } })
    await sync()
    expect(both()).toEqual([[], ['access']])
  })

  it('renews the access token of the ServiceAccount that has the name of the kubeconfig user', async () => {
    const kubeconfig = source.kubeconfig.replaceAll('"u"', '"robot"')
    put(own, `${SECRETS}/access`, { data: { kubeconfig: inBase64(kubeconfig) } })
    source.intercept = ({ path }: Request) =>
      path === '/api/v1/namespaces/garden-x/serviceaccounts/robot/token'
        ? { status: 201, body: { status: { token: 'new-token', expirationTimestamp: '2031-01-01T00:00:00Z' } } }
        : undefined
    expect(await sync({}, true)).toEqual({ errors: [], rotated: true })
    const data = found(`${SECRETS}/access`)['data'] as { kubeconfig: string }
    const written = JSON.parse(Buffer.from(data.kubeconfig, 'base64').toString('utf8')) as { users: unknown }
    expect(written.users).toEqual([{ name: 'robot', user: { token: 'new-token' } }])
  })

  it('deletes its Targets and their Secrets when it is deleted', async () => {
    offer('a.kubeconfig')
    await sync()
    put(own, `${TARGETS}/theirs`, {})
    refuse('DELETE', SECRETS)
    await expect(removeTargets({ by }, context())).rejects.toThrow('403')
    own.intercept = () => undefined
    await removeTargets({ by }, context())
    expect(both()).toEqual([['theirs'], ['access']])
  })
})
