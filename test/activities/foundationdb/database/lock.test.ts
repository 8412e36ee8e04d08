// The lock of the controllers of one database. Source: spec/foundationdb.md 3.6, L1 to L13.

import { describe, expect, it } from 'vitest'

import type { Database } from '../../../../activities/foundationdb/database/database.ts'
import {
  addPendingUpgrades,
  clearPendingUpgrades,
  denyList,
  pendingUpgrades,
  releaseLock,
  takeLock,
  updateDenyList,
} from '../../../../activities/foundationdb/database/lock.ts'
import { LOCK_KEY_PREFIX } from '../../../../workflows/foundationdb/model/cluster-settings.ts'
import { unpackTuple } from '../../../../workflows/foundationdb/database/tuple.ts'
import { MemoryDatabase } from '../../../support/foundationdb/memory-database.ts'

const NOW = 1_600_000_000

function optionsOf(lockID: string, keyPrefix = LOCK_KEY_PREFIX) {
  return { lockID, keyPrefix, durationSeconds: 600 }
}

async function memory() {
  const database = new MemoryDatabase({ seconds: NOW })
  await database.configure('single memory', { isNew: true })
  const holder = (prefix = LOCK_KEY_PREFIX) => {
    const value = database.keys.get(`${prefix}/global`)
    return value === undefined ? undefined : unpackTuple(value)
  }
  const take = (id: string, now: number) => takeLock(database, optionsOf(id), now)
  const deny = (id: string, isAllowed = false) => updateDenyList(database, optionsOf('any'), [{ id, isAllowed }])
  return { database, holder, take, deny }
}

describe('the lock', () => {
  it('keeps its start when its holder extends it', async () => {
    const { take, holder } = await memory()
    await take('dc1', NOW)
    await take('dc1', NOW + 300)
    expect(holder()).toEqual(['dc1', NOW, NOW + 900])
  })

  it('belongs to its holder up to and including its end', async () => {
    const { take, holder } = await memory()
    await take('dc1', NOW)
    await expect(take('dc2', NOW + 600)).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('"dc1"') as unknown,
    })
    await take('dc2', NOW + 601)
    expect(holder()).toEqual(['dc2', NOW + 601, NOW + 1201])
  })

  it('is taken over from a holder on the deny list', async () => {
    const { take, deny, holder } = await memory()
    await take('dc1', NOW)
    await deny('dc1')
    await take('dc2', NOW + 1)
    expect(holder()).toEqual(['dc2', NOW + 1, NOW + 601])
  })

  it.each([
    ['free', undefined],
    ['its own', 'dc1'],
    ['of another controller', 'dc2'],
  ])('is refused to a controller on the deny list, also if it is %s', async (_, owner) => {
    const { take, deny } = await memory()
    if (owner !== undefined) await take(owner, NOW)
    await deny('dc1')
    await expect(take('dc1', NOW + 1)).rejects.toMatchObject({ kind: 'refused' })
  })

  it('is refused if the controller gets onto the deny list during the transaction', async () => {
    const { database, deny, holder } = await memory()
    const transact: Database['transact'] = (decide) =>
      database.transact(async (read) => {
        const changes = await decide(read)
        await deny('dc1')
        return changes
      })
    const slow = Object.create(database, { transact: { value: transact } }) as Database
    await expect(takeLock(slow, optionsOf('dc1'), NOW)).rejects.toMatchObject({ kind: 'refused' })
    expect(holder()).toBeUndefined()
  })

  it('can be taken again after the entry of the deny list is allowed; other entries stay', async () => {
    const { take, deny, database } = await memory()
    await deny('dc1')
    await deny('dc3')
    await deny('dc1', true)
    expect(await denyList(database, optionsOf('dc1'))).toEqual(['dc3'])
    await take('dc1', NOW)
  })

  it('is an error while the database is unavailable', async () => {
    const { take, database } = await memory()
    database.isDown = true
    await expect(take('dc1', NOW)).rejects.toMatchObject({ kind: 'timeout' })
  })

  it('is not overwritten when its value is unreadable', async () => {
    const { take, database } = await memory()
    database.keys.set(`${LOCK_KEY_PREFIX}/global`, Buffer.from('garbage'))
    await expect(take('dc1', NOW)).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('unreadable') as unknown,
    })
    expect(database.keys.get(`${LOCK_KEY_PREFIX}/global`)).toEqual(Buffer.from('garbage'))
  })

  it('is stored under another prefix if the spec has one', async () => {
    const { database, holder } = await memory()
    await takeLock(database, optionsOf('dc1', 'locks'), NOW)
    expect(holder('locks')).toEqual(['dc1', NOW, NOW + 600])
  })

  it('is released by its holder only', async () => {
    const { take, holder, database } = await memory()
    await take('dc1', NOW)
    await releaseLock(database, optionsOf('dc2'), NOW + 1)
    expect(holder()).toBeDefined()
    await releaseLock(database, optionsOf('dc1'), NOW + 1)
    expect(holder()).toBeUndefined()
  })
})

describe('the keys of the Go operator', () => {
  it('are the same, byte for byte, with the default prefix', async () => {
    const { database, take, deny } = await memory()
    await take('dc1', NOW)
    await deny('dc2')
    await addPendingUpgrades(database, optionsOf('dc1'), { version: '7.3.1', processGroups: ['dc1-storage-1'] })
    const hex = (text: string) => Buffer.from(text, 'latin1').toString('hex')
    const prefix = `ff02${hex('/org.foundationdb.kubernetes-operator')}`
    const found = [...database.keys].map(([key, value]) => [hex(key), Buffer.from(value).toString('hex')])
    expect(found).toEqual([
      [`${prefix}${hex('/global')}`, '0264633100185f5e1000185f5e1258'],
      [`${prefix}${hex('/denyList/dc2')}`, hex('dc2')],
      [`${prefix}${hex('/upgrades/7.3.1/dc1-storage-1')}`, hex('dc1-storage-1')],
    ])
  })
})

describe('the list of pending upgrades', () => {
  it('is per version, shared by all controllers, and cleared as a whole', async () => {
    const { database } = await memory()
    const add = (lockID: string, version: string, processGroups: readonly string[]) =>
      addPendingUpgrades(database, optionsOf(lockID), { version, processGroups })
    await add('dc1', '7.3.1', ['dc1-storage-1'])
    await add('dc2', '7.3.1', ['dc2-storage-1'])
    await add('dc2', '7.3.2', ['dc2-storage-1'])
    expect(await pendingUpgrades(database, optionsOf('dc1'), '7.3.1')).toEqual(['dc1-storage-1', 'dc2-storage-1'])
    await clearPendingUpgrades(database, optionsOf('dc1'))
    expect(await pendingUpgrades(database, optionsOf('dc1'), '7.3.2')).toEqual([])
  })
})
