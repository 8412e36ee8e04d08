import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { WriteNews } from '../../../../activities/journal/write/events.ts'
import { FLUSH_MS, WriteBuffers } from '../../../../activities/journal/write/write-buffer.ts'

const at = (uid: string) => ({ group: 'example.com', kind: 'Widget', uid, namespace: 'n', name: uid })
const ownerReferences = [
  { apiVersion: 'example.com/v1', kind: 'Widget', name: 'owner', uid: 'owner', controller: true },
]

const told = (uid: string, resourceVersion: number, type: 'MODIFIED' | 'DELETED' = 'MODIFIED'): WriteNews => {
  const projection = { metadata: { namespace: 'n', ownerReferences } }
  const seen = { missed: false, unfollowed: false, ownerUid: 'owner', hash: undefined, projection, managers: {} }
  const origin = { source: 'write', writer: 'run', conflicted: false } as const
  return { events: [{ event: { ...at(uid), type, resourceVersion, ...seen }, origin }], finished: [] }
}

/** A write buffer. `written` has the journaled events as `uid@resourceVersion`; the next `refuse` writes fail. */
function journal() {
  const written: string[][] = []
  const reported: unknown[] = []
  const state = { refuse: 0, hold: Promise.resolve() }
  const buffers = new WriteBuffers({
    async write(batches) {
      await state.hold
      if (state.refuse-- > 0) throw new Error('the journal is away')
      written.push(batches.flatMap(({ events }) => events.map(({ event }) => `${event.uid}@${event.resourceVersion}`)))
    },
    report: (error) => reported.push(error),
  })
  return { buffers, written, reported, state }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe("a run's answers", () => {
  it('are journaled together by a flush, once', async () => {
    const { buffers, written } = journal()
    buffers.add('run', told('a', 1))
    buffers.add('run', told('a', 2))
    buffers.add('other', told('b', 3))
    await buffers.flush('run')
    expect(written).toEqual([['a@1', 'a@2']])
    await buffers.flush('run')
    await buffers.flush('unknown')
    expect(written).toHaveLength(1)
  })

  it('are journaled within 200 ms without a flush', async () => {
    const { buffers, written } = journal()
    buffers.add('run', told('a', 1))
    await vi.advanceTimersByTimeAsync(FLUSH_MS - 1)
    expect(written).toEqual([])
    buffers.add('run', told('a', 2))
    await vi.advanceTimersByTimeAsync(1)
    expect(written).toEqual([['a@1', 'a@2']])
  })

  it('that arrive during a flush are journaled before the flush ends', async () => {
    const { buffers, written, state } = journal()
    let release: () => void = () => undefined
    state.hold = new Promise((resolve) => {
      release = resolve
    })
    buffers.add('run', told('a', 1))
    const flushed = buffers.flush('run')
    buffers.add('run', told('a', 2))
    expect(buffers.unflushedStates(at('a'))).toMatchObject([{ version: 1 }, { version: 2 }])
    release()
    await flushed
    expect(written).toEqual([['a@1'], ['a@2']])
    expect(buffers.unflushedStates(at('a'))).toEqual([])
  })

  it('stay buffered when the journal fails; the flush throws, and the next flush contains all of them', async () => {
    const { buffers, written, state } = journal()
    buffers.add('run', told('a', 1))
    state.refuse = 1
    await expect(buffers.flush('run')).rejects.toThrow('the journal is away')
    buffers.add('run', told('a', 2))
    expect(buffers.unflushedStates(at('a'))).toHaveLength(2)
    await buffers.flush('run')
    expect(written).toEqual([['a@1', 'a@2']])
  })

  it('are retried without a flush, and the error is reported', async () => {
    const { buffers, written, reported, state } = journal()
    buffers.add('run', told('a', 1))
    state.refuse = 2
    await vi.advanceTimersByTimeAsync(FLUSH_MS)
    expect(reported).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(reported).toHaveLength(2)
    expect(written).toEqual([['a@1']])
  })

  it('are journaled for all runs before the process ends', async () => {
    const { buffers, written } = journal()
    buffers.add('run', told('a', 1))
    buffers.add('other', told('b', 1))
    await buffers.flushAll()
    expect(written).toEqual([['a@1'], ['b@1']])
  })

  it("are found by the object's uid and by its owner's uid", () => {
    const { buffers } = journal()
    buffers.add('run', told('a', 1))
    buffers.add('other', told('b', 2, 'DELETED'))
    expect(buffers.unflushedStates(at('a'))).toMatchObject([
      { uid: 'a', owner: { uid: 'owner' }, version: 1, deleted: false },
    ])
    expect(buffers.unflushedStates(at('owner'))).toMatchObject([{ uid: 'a' }, { uid: 'b', deleted: true }])
    expect(buffers.unflushedStates(at('c'))).toEqual([])
    expect(buffers.unflushedStates({ ...at('owner'), namespace: 'elsewhere' })).toEqual([])
  })
})
