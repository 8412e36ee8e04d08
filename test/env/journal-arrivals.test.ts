// The query of the bridge whether the journal already knows a received event, against a real PostgreSQL.

import { describe, expect, inject, it } from 'vitest'
import { type ReceivedVersion, checkReceivedEvents } from '../../activities/journal/read/received-events.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import { deps, NOW, seen, TASK, taskKind } from '../activities/journal/build-events.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const watch = { cluster: 'c', source: 'watch' } as const
const write = { cluster: 'c', source: 'write', writer: 'task/u1/j1' } as const

describe('a received event', () => {
  const known = async (...versions: readonly ReceivedVersion[]) => {
    const asked = { cluster: 'c', ...TASK, objects: ['Task.test.pawl.dev/ns/task-u1'], versions }
    return [...(await checkReceivedEvents(test.db, asked, NOW)).known]
  }
  const at = (version: number, gone = false) => ({ uid: 'u1', version, gone })

  it('is known only when the journal has its version', async () => {
    expect(await known(at(5))).toEqual([])
    const events = [seen('MODIFIED', { version: 5 }), seen('MODIFIED', { version: 9, status: { phase: 'B' } })]
    await journalEvents(test.db, { ...write, events }, deps)
    expect((await known(at(5), at(7), at(9), at(10))).sort()).toEqual(['u1 5', 'u1 9'])
    expect(await known({ uid: 'u2', version: 9, gone: false })).toEqual([])
    expect(await known(at(10, true))).toEqual([])
  })

  it('is known at any version when it is the deletion of an object whose last finalizer a run removed', async () => {
    const freed = seen('MODIFIED', { version: 9, deleting: true, finalizers: [] })
    await journalEvents(test.db, { ...write, events: [freed] }, deps)
    expect(await known(at(10, true))).toEqual(['u1 10'])
  })

  it('is not known when a later list lacked its object', async () => {
    await journalEvents(test.db, { ...watch, events: [seen('ADDED', { version: 5 })] }, deps)
    const missing = { uid: 'u1', namespace: 'ns', name: 'task-u1' }
    const missed = { watched: taskKind, missing, listVersion: 8 }
    await journalEvents(test.db, { cluster: 'c', source: 'relist', events: [missed] }, deps)
    expect(await known(at(5), at(6, true))).toEqual([])
  })
})
