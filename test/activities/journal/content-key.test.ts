import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { contentHash, loadOrCreateContentKey } from '../../../activities/journal/content-key.ts'
import { path } from '../../../workflows/kit/index.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pawl-key-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

describe('a missing content key', () => {
  it('is created readable only by its owner, and all concurrent callers get the same key', async () => {
    const file = join(folder, 'deep', 'content.key')
    const keys = await Promise.all(Array.from({ length: 5 }, () => loadOrCreateContentKey(file)))
    expect(new Set(keys.map((key) => key.toString('hex'))).size).toBe(1)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readdir(join(folder, 'deep'))).toEqual(['content.key'])
  })
})

describe('a damaged content key', () => {
  it('is refused with the found and the expected length', async () => {
    const file = join(folder, 'content.key')
    await writeFile(file, 'short')
    await chmod(file, 0o600)
    await expect(loadOrCreateContentKey(file)).rejects.toThrow('found 5 characters; expected 64 hexadecimal digits')
  })
})

describe('a content hash', () => {
  const paths = [path('data'), path('config')]
  const key = Buffer.alloc(32, 1)

  it('depends on the content and on the key, not on the order of keys', () => {
    const hash = contentHash({ data: { a: 1, b: 2 } }, paths, key)
    expect(contentHash({ data: { b: 2, a: 1 } }, paths, key)).toBe(hash)
    expect(contentHash({ data: { b: 2, a: 2 } }, paths, key)).not.toBe(hash)
    expect(contentHash({ data: { a: 1, b: 2 } }, paths, Buffer.alloc(32, 2))).not.toBe(hash)
  })

  it('is absent without content, without paths, and without a key', () => {
    expect(contentHash({ other: 1 }, paths, key)).toBeUndefined()
    expect(contentHash({ data: 1 }, [], key)).toBeUndefined()
    expect(contentHash({ data: 1 }, paths, undefined)).toBeUndefined()
  })
})
