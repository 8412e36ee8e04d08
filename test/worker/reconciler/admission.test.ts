import { describe, expect, it } from 'vitest'
import { Admission } from '../../../worker/reconciler/admission.ts'

const START = Date.UTC(2030, 0, 1)

/** Admission at a time that the test moves, beside a journal that the test fills. */
function stage(most: number) {
  const begun: string[] = []
  const asked: string[][] = []
  let ms = 0
  const admission = new Admission({
    most,
    begun: (workflowIDs) => {
      asked.push([...workflowIDs])
      return Promise.resolve(workflowIDs.filter((id) => begun.includes(id)))
    },
  })
  return {
    admission,
    begun,
    asked,
    pass: (more: number) => void (ms += more),
    /** 'taken', or in how many milliseconds to ask again. */
    take: async (id: string) => {
      const again = await admission.take(id, () => new Date(START + ms))
      return again === undefined ? 'taken' : again.getTime() - START - ms
    },
  }
}

describe('admission', () => {
  it('has places for a number of runs without a pass, and sends the others away one after the other', async () => {
    const { take } = stage(2)
    expect([await take('a'), await take('b')]).toEqual(['taken', 'taken'])
    expect([await take('c'), await take('d'), await take('e')]).toEqual([100, 140, 180])
  })

  it('has a place again when a run has begun a pass here', async () => {
    const { admission, take, asked } = stage(1)
    expect(await take('a')).toBe('taken')
    admission.leave('a')
    expect(await take('b')).toBe('taken')
    expect(await take('c')).toBe(100)
    expect(asked).toEqual([['b']])
  })

  it('asks the journal what others have begun, at most ten times a second, and once for all that ask together', async () => {
    const { take, begun, asked, pass } = stage(2)
    for (const id of ['a', 'b', 'c']) await take(id)
    begun.push('a')
    pass(50)
    expect(await take('c')).toBeGreaterThan(0)
    pass(50)
    expect(await Promise.all([take('c'), take('d')])).toEqual(['taken', 100])
    expect(asked).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ])
  })

  it('lets those that wait come as fast as others have begun lately, and half as fast again', async () => {
    const { admission, take, pass } = stage(1)
    const spacing = async (): Promise<number> => Number(await take('x')) * -1 + Number(await take('y'))
    const beginEvery = async (ms: number, times: number): Promise<void> => {
      for (let index = 0; index < times; index++) {
        pass(ms)
        admission.leave('run')
        await take('run')
        await take('other')
      }
    }
    await take('run')
    expect(await spacing()).toBe(40)
    await beginEvery(30, 100)
    expect(await spacing()).toBeCloseTo(20, 5)
    await beginEvery(3000, 3)
    expect(await spacing()).toBe(100)
    await beginEvery(3, 1000)
    expect(await spacing()).toBe(5)
    pass(10_000)
    expect(await spacing()).toBe(40)
  })

  it('gives up a run that nobody serves after a minute', async () => {
    const { take, pass } = stage(1)
    await take('a')
    pass(59_999)
    expect(await take('b')).toBe(100)
    pass(101)
    expect(await take('b')).toBe('taken')
  })

  it('sends nobody away for good when the journal cannot be asked', async () => {
    const admission = new Admission({ most: 1, begun: () => Promise.reject(new Error('away')) })
    await admission.take('a', () => new Date(START))
    await expect(admission.take('b', () => new Date(START))).rejects.toThrow('away')
  })
})
