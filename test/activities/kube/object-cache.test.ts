import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../activities/kube/client.ts'
import { ObjectCache } from '../../../activities/kube/object-cache.ts'

const object = (uid: string, version: number, text = ''): KubeObject => ({
  metadata: { name: uid, uid, resourceVersion: String(version) },
  text,
})

describe('cached objects', () => {
  it('are replaced by newer versions only, compared as numbers', () => {
    const cache = new ObjectCache()
    cache.put(object('a', 9))
    expect(cache.put(object('a', 10)).metadata.resourceVersion).toBe('10')
    expect(cache.put(object('a', 9)).metadata.resourceVersion).toBe('10')
    expect(cache.get('a')?.metadata.resourceVersion).toBe('10')
  })

  it('are removed on demand, and an object without uid is never stored', () => {
    const cache = new ObjectCache()
    cache.put(object('a', 1))
    cache.forget('a')
    cache.forget('never seen')
    expect(cache.get('a')).toBeUndefined()
    expect(cache.put({ metadata: { name: 'x' } })).toEqual({ metadata: { name: 'x' } })
  })

  it('stay within the byte limit: the oldest is removed first', () => {
    const cache = new ObjectCache(1000)
    for (const uid of ['a', 'b', 'c']) cache.put(object(uid, 1, 'x'.repeat(250)))
    cache.put(object('a', 2, 'x'.repeat(250)))
    cache.put(object('d', 1, 'x'.repeat(250)))
    expect(['a', 'b', 'c', 'd'].filter((uid) => cache.get(uid) !== undefined)).toEqual(['a', 'c', 'd'])
    cache.put(object('big', 1, 'x'.repeat(2000)))
    expect(cache.get('big')).toBeUndefined()
  })
})
