import { describe, expect, it } from 'vitest'

import type { KubeClient, StreamedResponse } from '../../../activities/kube/client.ts'
import { KubeError } from '../../../activities/kube/errors.ts'
import { type FollowedChange, followObjects } from '../../../activities/kube/follow-objects.ts'

type Watch = readonly object[] | { readonly status: number; readonly body: object; readonly retryAfter?: string }

const pod = (name: string, version: number) => ({ metadata: { name, resourceVersion: String(version) } })
const event = (type: string, name: string, version: number) => ({ type, object: pod(name, version) })
const EXPIRED = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } }

/** A server with scripted responses that records its requests. After the last response it aborts the follower. */
function scripted(lists: readonly (object | Error)[], watches: readonly Watch[]) {
  const asked: string[] = []
  const end = new AbortController()
  const left = { lists: [...lists], watches: [...watches] }
  const kube: Pick<KubeClient, 'request' | 'stream'> = {
    request: async <T>(_method: string, path: string, { query }: { query?: Readonly<Record<string, string>> } = {}) => {
      asked.push(`list ${path}?${new URLSearchParams(query).toString()}`)
      const list = left.lists.shift()
      if (list instanceof Error) throw list
      if (list === undefined) end.abort()
      end.signal.throwIfAborted()
      return await Promise.resolve(list as T)
    },
    stream: async (path) => {
      asked.push(`watch ${new URL(path, 'http://server').searchParams.get('resourceVersion') ?? ''}`)
      const watch = left.watches.shift()
      if (watch === undefined) end.abort()
      end.signal.throwIfAborted()
      return await Promise.resolve(responseOf(watch ?? []))
    },
  }
  return { kube, asked, signal: end.signal }
}

function responseOf(watch: Watch): StreamedResponse {
  const [statusCode, lines, headers] = Array.isArray(watch)
    ? [200, watch as readonly object[], {}]
    : (({ status, body, retryAfter }) =>
        [status, [body], retryAfter === undefined ? {} : { 'retry-after': retryAfter }] as const)(
        watch as Exclude<Watch, readonly object[]>,
      )
  async function* body() {
    for (const line of lines) yield await Promise.resolve(Buffer.from(`${JSON.stringify(line)}\n`))
  }
  return { statusCode, headers, body: body() }
}

const list = (version: string, ...names: readonly string[]) => ({
  metadata: { resourceVersion: version },
  items: names.map((name) => pod(name, 1)),
})

async function follow(lists: readonly (object | Error)[], watches: readonly Watch[], relistMs?: number) {
  const { kube, asked, signal } = scripted(lists, watches)
  const options = { signal, backoffMs: { first: 1, longest: 4 }, query: { labelSelector: 'a' } }
  const told: string[] = []
  for await (const found of followObjects(kube, '/pods', { ...options, ...(relistMs !== undefined && { relistMs }) }))
    told.push(textOf(found))
  return { told, asked }
}

function textOf(found: FollowedChange): string {
  switch (found.type) {
    case 'listed':
      return `listed ${found.objects.map(({ metadata }) => metadata.name).join(' ')}`
    case 'event':
      return `${found.eventType} ${found.object.metadata.name}`
    case 'interrupted':
      return `interrupted: ${found.error instanceof Error ? found.error.message : String(found.error)}`
  }
}

const LIST = 'list /pods?labelSelector=a&limit=500'

describe('following objects', () => {
  it('lists, then emits changes, and resumes after the server ends the watch', async () => {
    const { told, asked } = await follow(
      [list('5', 'a', 'b')],
      [[event('MODIFIED', 'a', 6), { type: 'BOOKMARK', object: pod('', 8) }], [event('DELETED', 'b', 9)]],
    )
    expect(told).toEqual(['listed a b', 'MODIFIED a', 'DELETED b'])
    expect(asked).toEqual([LIST, 'watch 5', 'watch 8', 'watch 9'])
  })

  it('lists again when the server answers or sends 410', async () => {
    const gone = { status: 410, body: { kind: 'Status', code: 410, reason: 'Gone', message: 'too old' } }
    const { told, asked } = await follow(
      [list('5', 'a'), list('15', 'b'), list('25', 'c')],
      [[event('MODIFIED', 'a', 6), EXPIRED], gone],
    )
    expect(told.filter((text) => !text.startsWith('interrupted'))).toEqual([
      ...['listed a', 'MODIFIED a', 'listed b', 'listed c'],
    ])
    expect(asked).toEqual([LIST, 'watch 5', LIST, 'watch 15', LIST, 'watch 25'])
  })

  it('resumes after any error at its last version, and emits the error', async () => {
    const away = { status: 503, body: { kind: 'Status', code: 503, reason: 'Unavailable', message: 'away' } }
    const { told, asked } = await follow([list('5')], [[event('ADDED', 'a', 6)], away, [event('ADDED', 'b', 7)]])
    expect(told).toEqual([
      'listed ',
      'ADDED a',
      expect.stringMatching(/^interrupted: .*503 Unavailable: away/),
      'ADDED b',
    ])
    expect(asked).toEqual([LIST, 'watch 5', 'watch 6', 'watch 6', 'watch 7'])
  })

  it('retries the list until it succeeds', async () => {
    const error = new KubeError('no answer', { status: 0, reason: 'Unreachable' })
    const { told } = await follow([error, error, list('5', 'a')], [])
    expect(told).toEqual(['interrupted: no answer', 'interrupted: no answer', 'listed a'])
  })

  it('lists again after the relist period', async () => {
    const { told } = await follow([list('5', 'a'), list('6')], [[event('MODIFIED', 'a', 6)]], 0)
    expect(told).toEqual(['listed a', 'MODIFIED a', 'listed '])
  })
})
