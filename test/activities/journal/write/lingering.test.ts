import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { Lingering, type LingeringRun } from '../../../../activities/journal/write/lingering.ts'
import type { NewWake } from '../../../../activities/journal/write/wakes.ts'

const NOW = new Date('2026-01-01T00:00:00Z')
const LATER = new Date('2026-01-01T00:00:02Z')
const RUN = 'execution/u1/job'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a lingering run', () => {
  it('gives up after its time', async () => {
    const lingering = new Lingering({ most: 1, ms: 300 })
    const woken = lingering.wait(named(RUN))
    await vi.advanceTimersByTimeAsync(299)
    expect(await Promise.race([woken, Promise.resolve('waits')])).toBe('waits')
    await vi.advanceTimersByTimeAsync(1)
    expect(await woken).toBe(false)
    expect(lingering.wake(RUN, NOW, NOW)).toBeUndefined()
  })

  it('is woken by its workflow ID, once, and the wake comes again later', async () => {
    const lingering = new Lingering({ most: 1, ms: 300 })
    const woken = lingering.wait(named(RUN))
    expect(lingering.wake('execution/u2/job', NOW, NOW)).toBeUndefined()
    expect(lingering.wake(RUN, NOW, NOW)).toEqual(LATER)
    expect(lingering.wake(RUN, NOW, NOW)).toBeUndefined()
    expect(await woken).toBe(true)
  })

  it('goes on when its wake is journaled, not before', async () => {
    const lingering = new Lingering({ most: 1, ms: 300 })
    const woken = lingering.wait(named(RUN))
    const { wakes, release } = lingering.hold([wake('u1'), wake('u2')], NOW)
    expect(wakes.map(({ uid, due }) => [uid, due])).toEqual([
      ['u1', LATER],
      ['u2', NOW],
    ])
    // The transaction may take longer than the run would have waited.
    await vi.advanceTimersByTimeAsync(1000)
    expect(await Promise.race([woken, Promise.resolve('waits')])).toBe('waits')
    release()
    expect(await woken).toBe(true)
  })

  it('is not the run of another job, where wakes name the job', () => {
    const lingering = new Lingering({ most: 2, ms: 300 })
    void lingering.wait(named('deploy/u1/old'))
    void lingering.wait(named('deploy/u1/new'))
    const { wakes } = lingering.hold([wake('u1', { controller: 'deploy', job_id: 'other' })], NOW)
    expect(wakes[0]?.due).toEqual(NOW)
    expect(lingering.wake('deploy/u1/old', NOW, NOW)).toEqual(LATER)
    expect(lingering.hold([wake('u1', { controller: 'deploy', job_id: 'new' })], NOW).wakes[0]?.due).toEqual(LATER)
  })

  it('leaves a wake alone that is due even later', () => {
    const lingering = new Lingering({ most: 1, ms: 300 })
    void lingering.wait(named(RUN))
    const due = new Date(NOW.getTime() + 60_000)
    expect(lingering.hold([wake('u1', { due })], NOW).wakes[0]?.due).toEqual(due)
  })
})

describe('a run that is touched without end', () => {
  it('is woken by the dispatcher at most ten times a second, and by runs of the same process at once', async () => {
    const lingering = new Lingering({ most: 1, ms: 300 })
    const touched = async (ms: number) => {
      const woken = lingering.wait(named(RUN))
      lingering.wake(RUN, new Date(NOW.getTime() + ms), NOW)
      return woken
    }
    expect(await touched(0)).toBe(true)
    const second = touched(40)
    await vi.advanceTimersByTimeAsync(59)
    expect(await Promise.race([second, Promise.resolve('waits')])).toBe('waits')
    await vi.advanceTimersByTimeAsync(1)
    expect(await second).toBe(true)
    const third = touched(110)
    lingering.hold([wake('u1')], new Date(NOW.getTime() + 115)).release()
    expect(await third).toBe(true)
    expect(lingering.count).toBe(0)
  })
})

describe('a run that is touched more often than it is woken', () => {
  const touch = (lingering: Lingering, ms: number) => lingering.wake(RUN, new Date(NOW.getTime() + ms), NOW)

  it('is woken at the time that its first wake named, however many come until then', async () => {
    const lingering = new Lingering({ most: 1, ms: 300 })
    void lingering.wait(named(RUN))
    touch(lingering, 0)
    const woken = lingering.wait(named(RUN))
    for (let ms = 10; ms < 100; ms += 10) {
      await vi.advanceTimersByTimeAsync(10)
      touch(lingering, ms)
    }
    await vi.advanceTimersByTimeAsync(10)
    expect(await Promise.race([woken, Promise.resolve('waits')])).toBe(true)
  })

  it('is never woken later than a tenth of a second after its wake, also when runs of the same process wake it in between', async () => {
    const lingering = new Lingering({ most: 1, ms: 300 })
    for (let ms = 0; ms < 50; ms += 10) {
      void lingering.wait(named(RUN))
      touch(lingering, ms)
      lingering.hold([wake('u1')], new Date(NOW.getTime() + ms)).release()
    }
    const woken = lingering.wait(named(RUN))
    touch(lingering, 50)
    await vi.advanceTimersByTimeAsync(100)
    expect(await Promise.race([woken, Promise.resolve('waits')])).toBe(true)
  })
})

describe('a wake that was put off', () => {
  const after = (ms: number) => new Date(NOW.getTime() + ms)

  it('is put off again while its run was woken here less than two seconds ago, then it is a signal', () => {
    const lingering = new Lingering({ most: 1, ms: 300 })
    void lingering.wait(named(RUN))
    lingering.hold([wake('u1')], NOW)
    void lingering.wait(named(RUN))
    lingering.hold([wake('u1')], after(1500))
    // The row has the smaller due time of the two.
    expect(lingering.wake(RUN, after(2001), LATER)).toEqual(after(3500))
    expect(lingering.wake(RUN, after(3501), after(3500))).toBeUndefined()
    expect(lingering.wake(RUN, after(3502), after(3500))).toBeUndefined()
  })

  it('is a signal when something else has come that the run was not given', () => {
    const lingering = new Lingering({ most: 1, ms: 300 })
    void lingering.wait(named(RUN))
    lingering.wake(RUN, NOW, NOW)
    expect(lingering.wake(RUN, after(100), after(90))).toBeUndefined()
  })
})

describe('a run that was signalled', () => {
  it('does not linger, unless it has looked since', async () => {
    const lingering = new Lingering({ most: 1, ms: 300 })
    lingering.wake(RUN, NOW, NOW)
    expect(await lingering.wait(named(RUN))).toBe(false)
    lingering.wake(RUN, NOW, NOW)
    lingering.looks(RUN)
    void lingering.wait(named(RUN))
    expect(lingering.count).toBe(1)
  })
})

describe('a run that waits for work of its own', () => {
  it('waits until it ends, at most so long, and no longer than until it is woken', async () => {
    const lingering = new Lingering({ most: 0, ms: 300 })
    expect(await lingering.beside(named(RUN), Promise.resolve(), 1000)).toBe(false)
    expect(lingering.count).toBe(0)
    const never = new Promise(() => undefined)
    const late = lingering.beside(named(RUN), never, 1000)
    await vi.advanceTimersByTimeAsync(1000)
    expect(await late).toBe(false)
    const woken = lingering.beside(named(RUN), never, 1000)
    expect(lingering.wake(RUN, NOW, NOW)).toEqual(LATER)
    expect(await woken).toBe(true)
    await expect(lingering.beside(named(RUN), Promise.reject(new Error('work')), 1000)).rejects.toThrow('work')
  })

  it('loses no wake that was put off for it before its work ended', async () => {
    const lingering = new Lingering({ most: 0, ms: 300 })
    let end = (): void => undefined
    const ending = () => new Promise<void>((resolve) => (end = resolve))
    const held = lingering.beside(named(RUN), ending(), 1000)
    const { release } = lingering.hold([wake('u1')], NOW)
    end()
    await vi.advanceTimersByTimeAsync(1)
    release()
    expect(await held).toBe(true)
    // The dispatcher woke it just now: the next time waits a little (L5).
    const first = lingering.beside(named(RUN), new Promise(() => undefined), 1000)
    lingering.wake(RUN, NOW, NOW)
    expect(await first).toBe(true)
    const spaced = lingering.beside(named(RUN), ending(), 1000)
    lingering.wake(RUN, NOW, NOW)
    end()
    expect(await spaced).toBe(true)
    expect(lingering.count).toBe(0)
  })

  it('is told of a signal that waits for it', () => {
    const lingering = new Lingering({ most: 1, ms: 300 })
    expect(lingering.isSignalled(RUN)).toBe(false)
    lingering.wake(RUN, NOW, NOW)
    expect(lingering.isSignalled(RUN)).toBe(true)
    lingering.looks(RUN)
    expect(lingering.isSignalled(RUN)).toBe(false)
  })
})

describe('lingering', () => {
  it('is for so many runs only, and for none when it is off', async () => {
    const lingering = new Lingering({ most: 1, ms: 300 })
    void lingering.wait(named(RUN))
    expect(await lingering.wait(named('execution/u2/job'))).toBe(false)
    expect(await new Lingering({ most: 1, ms: 0 }).wait(named(RUN))).toBe(false)
  })

  it('ends for all when the process drains', async () => {
    const lingering = new Lingering({ most: 2, ms: 300 })
    const both = [lingering.wait(named(RUN)), lingering.wait(named('execution/u2/job'))]
    lingering.stop()
    expect(await Promise.all(both)).toEqual([false, false])
    expect(await lingering.wait(named(RUN))).toBe(false)
  })
})

function named(workflowID: string): LingeringRun {
  const [controller = '', uid = '', jobID = ''] = workflowID.split('/')
  return { workflowID, controller, uid, jobID }
}

function wake(uid: string, change: Partial<NewWake> = {}): NewWake {
  const subject = { controller: 'execution', uid, job_id: '', cluster: 'local', namespace: 'ns', name: uid }
  return {
    ...subject,
    seq: 1,
    due: NOW,
    foreign_event: false,
    may_start: false,
    writer: null,
    cause: 'test',
    ...change,
  }
}
