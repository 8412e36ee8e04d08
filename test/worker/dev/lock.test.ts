import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

import { LockHeldError, takeLock, withLock } from '../../../worker/dev/lock.ts'
import { identify } from '../../../worker/server/process-identity.ts'
import { scratchFolder } from './scratch.ts'

describe('a lock file', () => {
  it('allows one holder at a time', async () => {
    const path = join(await scratchFolder(), 'lock')
    let inside = 0
    let most = 0
    const work = async () => {
      inside += 1
      most = Math.max(most, inside)
      await new Promise((resolve) => setImmediate(resolve))
      inside -= 1
    }
    await Promise.all([1, 2, 3].map(() => withLock(path, work)))
    expect(most).toBe(1)
  })

  it('is released when the work throws', async () => {
    const path = join(await scratchFolder(), 'lock')
    await expect(withLock(path, () => Promise.reject(new Error('boom')))).rejects.toThrow('boom')
    await expect(withLock(path, () => Promise.resolve('again'), { waitMs: 0 })).resolves.toBe('again')
  })

  it('reports its holder when waiting is not allowed', async () => {
    const path = join(await scratchFolder(), 'lock')
    const release = await takeLock(path)
    await expect(takeLock(path, { waitMs: 0 })).rejects.toThrow(new LockHeldError(path, process.pid))
    await release()
  })

  it('is removed when its holder is dead', async () => {
    const path = join(await scratchFolder(), 'lock')
    const { pid } = spawnSync('true')
    await writeFile(path, JSON.stringify({ pid, started: '1' }))
    const release = await takeLock(path, { waitMs: 0 })
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(identify(process.pid))
    await release()
  })

  it('is removed when another process has the pid of its holder', async () => {
    const path = join(await scratchFolder(), 'lock')
    await writeFile(path, JSON.stringify({ pid: process.pid, started: '1' }))
    await expect(takeLock(path, { waitMs: 0 })).resolves.toBeTypeOf('function')
  })
})
