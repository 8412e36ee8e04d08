// Targets whose servers are broken, or mean no good: what they answer is a failure of the item, never one of the engine.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { toDeployError } from '../../../../../activities/landscaper/deploy/run/deploy-errors.ts'
import { checkReadiness } from '../../../../../activities/landscaper/deploy/objects/readiness/check-readiness.ts'
import { readReadinessConfig } from '../../../../../activities/landscaper/deploy/objects/readiness/readiness-config.ts'
import { readExports, readExportsConfig } from '../../../../../activities/landscaper/deploy/objects/resource-exports.ts'
import { readObject } from '../../../../../activities/landscaper/deploy/target/read-object.ts'
import { HostileServer } from './hostile-server.ts'
import { data } from '../../tenant-data.ts'

let server: HostileServer
beforeEach(async () => {
  server = new HostileServer()
  await server.start()
})
afterEach(() => server.stop())

const signal = new AbortController().signal
const REFERENCE = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', namespace: 'n' }
const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

async function failure(work: Promise<unknown>) {
  const error = await work.then(
    (value) => expect.fail(`it came to ${JSON.stringify(value)}`),
    (caught: unknown) => toDeployError('Test', caught),
  )
  const { reason, message, codes, isFinal } = error
  return { reason, message, codes, isFinal }
}

const BROKEN = { reason: 'Unreachable', codes: [], isFinal: false }

describe('an object of a server', () => {
  const good = { metadata: { name: 'a', namespace: 'n', uid: 'u', resourceVersion: '1' } }

  it.each([
    ...[{}, { metadata: null }, { metadata: [] }, { metadata: { name: 7 } }, { metadata: {} }, [], null, 7],
    { metadata: { ...good.metadata, finalizers: 'x' } },
    { metadata: { ...good.metadata, finalizers: [null] } },
    { metadata: { ...good.metadata, labels: { a: 7 } } },
    { metadata: { ...good.metadata, annotations: 'x' } },
    { metadata: { ...good.metadata, uid: {} } },
    { ...good, kind: 7 },
    `{"metadata":{"name":"a"},"status":${deep(50_000)}}`,
  ])('that is none is a failure to try again: %j', async (body) => {
    server.serve(() => ({ body }))
    expect(await failure(readObject(await server.open(), REFERENCE))).toMatchObject(BROKEN)
  })

  it('is accepted if it has the fields of objects', async () => {
    server.serve(() => ({ body: good }))
    expect(await readObject(await server.open(), REFERENCE)).toEqual(good)
  })

  it('is rejected if it is larger than any stored object', async () => {
    server.serve(() => ({ body: { ...good, data: { x: 'x'.repeat(5 * 1024 * 1024) } } }))
    expect(await failure(readObject(await server.open(), REFERENCE))).toMatchObject(BROKEN)
  })
})

describe('a list of a server', () => {
  const check = { name: 'c', requirements: [{ jsonPath: '.data.x', operator: 'exists' }] }
  const labelSelector = { apiVersion: 'v1', kind: 'ConfigMap', matchLabels: { a: 'b' } }
  const look = async () => {
    const config = readReadinessConfig({ custom: [{ ...check, labelSelector }] }, 'r', [])
    const target = await server.open()
    return await checkReadiness({
      work: { target, openTarget: () => Promise.resolve(target), data, signal },
      objects: [],
      config,
    })
  }

  it.each([{}, { items: null }, { items: [null] }, { items: [{}] }, { items: [{ metadata: null }] }, []])(
    'that is none is a failure to try again: %j',
    async (body) => {
      server.serve(() => ({ body }))
      expect(await failure(look())).toMatchObject(BROKEN)
    },
  )

  it('without end is rejected', async () => {
    server.serve(() => ({ body: { items: [], metadata: { continue: 'more' } } }))
    expect(await failure(look())).toMatchObject({
      codes: ['ERR_CONFIGURATION_PROBLEM'],
      message: expect.stringContaining('more than 100000 objects') as string,
    })
  })

  it('is read to its last page', async () => {
    const object = (data: object) => ({ metadata: { name: 'a', namespace: 'n' }, data })
    let pages = 0
    server.serve(() =>
      pages++ === 0
        ? { body: { items: [object({ x: '1' })], metadata: { continue: 'more' } } }
        : { body: { items: [object({})] } },
    )
    expect(await look()).toMatchObject({ result: 'waiting' })
  })

  it('may be larger than an object', async () => {
    const metadata = { name: 'a', namespace: 'n' }
    server.serve(() => ({ body: { items: [{ metadata, data: { x: 'x'.repeat(5 * 1024 * 1024) } }] } }))
    expect(await look()).toEqual({ result: 'done' })
  })

  it('is rejected if a page of one object is larger than 16 MiB', async () => {
    server.serve(() => ({ body: 'x'.repeat(17 * 1024 * 1024) }))
    expect((await failure(look())).message).toContain('an object alone exceeds the limit')
  })

  it('is not reported in full if its names are long', async () => {
    server.serve(() => ({ body: { items: [{ metadata: { name: 'long'.repeat(10_000), namespace: 'n' } }] } }))
    const step = await look()
    expect(step).toMatchObject({ result: 'waiting' })
    expect(JSON.stringify(step).length).toBeLessThan(1200)
  })
})

describe('an answer that no API server gives', () => {
  const get = async () => await failure((await server.open()).kube.request('GET', '/api/v1/pods'))

  it('cannot redirect requests, and is not quoted', async () => {
    server.answer = () => ({ status: 302, headers: { location: '/canary' }, body: 'canary' })
    const message = 'GET /api/v1/pods: 302 Unknown'
    expect(await get()).toEqual({ reason: 'Unknown', codes: [], isFinal: false, message })
    expect(server.requests).toEqual(['GET /api/v1/pods'])
  })

  it('is not quoted when it is not JSON, and does not fill the memory of the worker', async () => {
    server.answer = () => ({ body: '<canary>' })
    expect(await get()).toMatchObject({ ...BROKEN, message: "GET /api/v1/pods: no answer from the target's server" })
    server.answer = () => ({ body: 'x'.repeat(17 * 1024 * 1024) })
    expect((await get()).message).toContain('BODY_TOO_LONG')
  })
})

describe('rejected credentials', () => {
  it('are reported with the Target, without the text of the server', async () => {
    server.answer = () => ({ status: 401, body: '<html>canary</html>' })
    const target = await server.open()
    for (const work of [target.servedKind('v1', 'ConfigMap'), target.kube.request('GET', '/api/v1/x')]) {
      const error = await failure(work)
      expect(error).toMatchObject({ reason: 'Unknown', codes: ['ERR_UNAUTHORIZED'], isFinal: true })
      expect(error.message).toMatch(
        /^Target "n\/hostile": the server rejects the credentials \(GET \/api\/v1(?:\/x)?: 401 Unknown\); renew them$/,
      )
    }
  })
})

describe('a server that does not answer', () => {
  it('gets no requests for three seconds, not even for a kind of another group', async () => {
    const target = await server.open()
    await server.goDown()
    const first = await failure(target.servedKind('g.example/v1', 'Kind'))
    expect(first).toMatchObject(BROKEN)
    await server.comeBack()
    server.serve(() => undefined)
    for (let group = 0; group < 30; group += 1) {
      const message = `GET /apis/g${group}.example/v1: no answer from the target's server: ECONNREFUSED`
      expect(await failure(target.servedKind(`g${group}.example/v1`, 'Kind'))).toMatchObject({ ...BROKEN, message })
    }
    expect(await failure(server.open())).toMatchObject({
      ...BROKEN,
      message: `Target "n/hostile": ${first.message}; Pawl retries soon`,
    })
    expect(server.requests).toEqual([])
    server.nowMs += 3000
    expect(await (await server.open()).servedKind('v1', 'ConfigMap')).toBeDefined()
  })

  it('is waited for as long as each caller allows', async () => {
    let release: () => void = () => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    server.answer = () => undefined
    const target = await server.open()
    const patient = target.servedKind('v1', 'ConfigMap', AbortSignal.timeout(5000))
    const controller = new AbortController()
    const hasty = target.servedKind('v1', 'ConfigMap', controller.signal).finally(release)
    controller.abort(new Error('time is up'))
    await expect(hasty).rejects.toThrow('time is up')
    await held
    const first = await Promise.race([
      patient.then(
        () => 'answered',
        () => 'failed',
      ),
      Promise.resolve('still waiting'),
    ])
    expect(first).toBe('still waiting')
    await server.goDown()
    await expect(patient).rejects.toThrow()
  })
})

describe('a reference without namespace to a namespaced object', () => {
  const reference = { ...REFERENCE, namespace: undefined }

  it('is a mistake of the configuration, in a check and in an export', async () => {
    server.serve(() => ({ status: 404, body: {} }))
    const target = await server.open()
    const work = { target, openTarget: () => Promise.resolve(target), data, signal }
    const custom = [
      { name: 'c', resourceSelector: [reference], requirements: [{ jsonPath: '.x', operator: 'exists' }] },
    ]
    const exports = readExportsConfig({ exports: [{ key: 'k', jsonPath: '.x', fromResource: reference }] }, 'e', {
      mistakes: [],
      hasValues: false,
    })
    for (const look of [
      checkReadiness({ work, objects: [], config: readReadinessConfig({ custom }, 'r', []) }),
      readExports({ work, exports, deployer: 'manifest' }),
    ]) {
      expect(await failure(look)).toMatchObject({
        reason: 'InvalidConfiguration',
        codes: ['ERR_CONFIGURATION_PROBLEM'],
        message:
          'ConfigMap "a": namespace: found nothing; expected a namespace, because ConfigMap is a namespaced kind',
      })
    }
  })
})
