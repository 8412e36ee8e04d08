// Tests lists whose pages are too large or too slow, against a server with scripted responses.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { createKubeClient, type KubeClient } from '../../../activities/kube/client.ts'
import { type PagesOptions, readPages } from '../../../activities/kube/pages.ts'
import { ScriptedServer } from '../../support/servers/scripted-server.ts'

const KIB = 1024
/** Pages of more bytes are too large for the client, and the server answers them with `refusal`. */
const MOST = 64 * KIB
const PATH = '/api/v1/namespaces/n/configmaps'

let server: ScriptedServer
let kube: KubeClient
/** The limit and the offset of each request. */
let asked: string[]
let sizes: readonly number[]
/** The server's response instead of a page that is too large. If undefined, the server sends the page. */
let refusal: { readonly status: number; readonly message?: string; readonly retryAfter?: string } | undefined
/** The server's response to requests for metadata only. If undefined, the server sends the objects' metadata. */
let bare: unknown

beforeEach(async () => {
  ;[asked, sizes, refusal, bare] = [[], [], undefined, undefined]
  server = await ScriptedServer.start((request, response) => {
    const { searchParams: query } = new URL(request.url ?? '', 'http://x')
    const from = Number(query.get('continue'))
    const limit = Number(query.get('limit') ?? sizes.length)
    const isBare = String(request.headers.accept).includes('PartialObjectMetadataList')
    asked.push(`${query.get('limit') ?? 'all'} from ${from}${isBare ? ', metadata' : ''}`)
    const items = sizes.slice(from, from + limit).map((bytes, index) => ({
      metadata: { name: `object-${from + index}`, namespace: 'n' },
      ...(!isBare && { data: 'x'.repeat(bytes) }),
    }))
    const token = from + limit < sizes.length ? { continue: String(from + limit) } : {}
    const body = JSON.stringify({ metadata: { resourceVersion: '7', ...token }, items })
    const { status, message, retryAfter } =
      body.length > MOST ? { status: 200, ...refusal } : ({ status: 200 } as Partial<NonNullable<typeof refusal>>)
    const wait = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
    response.writeHead(status ?? 200, { 'content-type': 'application/json', ...wait })
    if (isBare && bare !== undefined) response.end(JSON.stringify(bare))
    else response.end(status === 200 ? body : JSON.stringify({ message }))
  })
  kube = createKubeClient({ kubeconfig: server.kubeconfig })
})
afterEach(async () => {
  await kube.close()
  await server.stop()
})

async function namesOf(options: PagesOptions): Promise<string[]> {
  const names: string[] = []
  for await (const { items } of readPages(kube, PATH, { mostBytes: MOST, ...options }))
    names.push(...items.map(({ metadata }) => metadata.name))
  return names
}

const TOO_LARGE = [
  ['longer than what is read', undefined],
  ['refused by its size', { status: 413 }],
  ['refused as the store does it', { status: 500, message: 'rpc error: trying to send message larger than max' }],
] as const

describe('a page that is too large', () => {
  it.each(TOO_LARGE)('is requested in smaller pages after the last received one: %s', async (_, how) => {
    refusal = how
    sizes = [...Array<number>(8).fill(KIB), ...Array<number>(8).fill(20 * KIB)]
    expect(await namesOf({ limit: 8 })).toEqual(sizes.map((_size, index) => `object-${index}`))
    expect(asked).toEqual([...['8 from 0', '8 from 8', '4 from 8', '2 from 8', '2 from 10', '2 from 12', '2 from 14']])
  })

  it('is replaced by pages when the whole list was requested', async () => {
    sizes = Array<number>(600).fill(KIB / 4)
    expect(await namesOf({ limit: undefined, query: { labelSelector: 'a=b' } })).toHaveLength(600)
    const smaller = ['all from 0', '500 from 0', '250 from 0']
    expect(asked).toEqual([...smaller, ...[0, 125, 250, 375, 500].map((from) => `125 from ${from}`)])
  })

  it.each(TOO_LARGE)('fails with the name of an object that is too large by itself: %s', async (_, how) => {
    refusal = how
    sizes = [KIB, KIB, KIB, 70 * KIB, KIB]
    await expect(namesOf({ limit: 4 })).rejects.toMatchObject({
      status: 413,
      reason: 'RequestEntityTooLarge',
      message: `GET ${PATH}: object n/object-3 alone exceeds the limit of the server, or 0.0625 MiB; make the object smaller`,
    })
    expect(asked).toEqual(['4 from 0', '2 from 0', '2 from 2', '1 from 2', '1 from 3', '1 from 3, metadata'])
  })

  it('is remembered for the next list, until the whole list fits', async () => {
    sizes = Array<number>(600).fill(KIB / 4)
    await namesOf({ limit: undefined })
    asked = []
    expect(await namesOf({ limit: undefined })).toHaveLength(600)
    expect(asked.slice(0, 2)).toEqual(['125 from 0', '125 from 125'])
    // The client remembers page sizes per selector.
    ;[asked, sizes] = [[], [1, 1]]
    await namesOf({ limit: undefined, query: { labelSelector: 'c=d' } })
    await namesOf({ limit: undefined })
    await namesOf({ limit: undefined })
    expect(asked).toEqual(['all from 0', '125 from 0', 'all from 0'])
  })

  it.each([{}, { items: null }, { items: [null] }, { items: [{ metadata: null }] }, null, 'x'])(
    'is named as an object where its metadata are %j',
    async (answer) => {
      ;[bare, sizes] = [answer, [70 * KIB]]
      await expect(namesOf({ limit: 1 })).rejects.toMatchObject({
        status: 413,
        message: `GET ${PATH}: an object alone exceeds the limit of the server, or 0.0625 MiB; make the object smaller`,
      })
    },
  )

  it.each(['two\nlines', '<b>', 'sign in at https://x.example/?a', 'x'.repeat(300), ''])(
    'has no name that is none: %j',
    async (name) => {
      ;[bare, sizes] = [{ items: [{ metadata: { name, namespace: 'n' } }] }, [70 * KIB]]
      await expect(namesOf({ limit: 1 })).rejects.toThrow(`GET ${PATH}: an object alone exceeds`)
    },
  )

  it('is not assumed for other failures', async () => {
    refusal = { status: 503 }
    sizes = Array<number>(4).fill(40 * KIB)
    await expect(namesOf({ limit: 4 })).rejects.toMatchObject({ status: 503 })
    expect(asked).toEqual(['4 from 0'])
  })
})

describe('a page that the server does not send in time', () => {
  beforeEach(() => {
    sizes = [...Array<number>(8).fill(KIB), ...Array<number>(8).fill(20 * KIB)]
  })

  it('is requested in much smaller pages after Retry-After', async () => {
    refusal = { status: 504, message: 'Timeout', retryAfter: '1' }
    const from = performance.now()
    expect(await namesOf({ limit: 16 })).toHaveLength(16)
    expect(asked).toEqual(Array.from({ length: 9 }, (_, page) => (page === 0 ? '16 from 0' : `2 from ${page * 2 - 2}`)))
    expect(performance.now() - from).toBeGreaterThan(990)
  })

  it('is requested at most twice more', async () => {
    refusal = { status: 504, message: 'Timeout' }
    sizes = Array<number>(600).fill(20 * KIB)
    await expect(namesOf({ limit: undefined })).rejects.toMatchObject({ status: 504 })
    expect(asked).toEqual(['all from 0', '62 from 0', '7 from 0'])
  })

  it.each([
    ['the server wants long to be left alone', { message: 'Timeout', retryAfter: '60' }],
    ['the server does not know the version yet', { message: 'Too large resource version: 9, current: 7' }],
  ])('is left to the caller where %s', async (_, how) => {
    refusal = { status: 504, ...how }
    await expect(namesOf({ limit: 16 })).rejects.toMatchObject({ status: 504 })
    expect(asked).toEqual(['16 from 0'])
  })

  it('is not requested again after the caller aborts', async () => {
    refusal = { status: 504, message: 'Timeout', retryAfter: '5' }
    const caller = new AbortController()
    setTimeout(() => caller.abort(), 20)
    await expect(namesOf({ limit: 16, signal: caller.signal })).rejects.toMatchObject({ name: 'AbortError' })
    expect(asked).toEqual(['16 from 0'])
  })
})
