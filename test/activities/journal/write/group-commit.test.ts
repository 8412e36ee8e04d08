import { describe, expect, it } from 'vitest'
import { createGroupCommit } from '../../../../activities/journal/write/group-commit.ts'

/** A run that records its groups and ends when told to. */
function recorder() {
  const groups: (readonly string[])[] = []
  const ends: (() => void)[] = []
  const run = async (items: readonly string[]) => {
    groups.push(items)
    await new Promise<void>((resolve) => ends.push(resolve))
    return items.map((item) => item.toUpperCase())
  }
  return { groups, run, end: () => ends.shift()?.() }
}
const turn = async () => await new Promise((resolve) => setImmediate(resolve))

describe('a group commit', () => {
  it('processes a single item immediately, and items that arrive meanwhile as the next group', async () => {
    const { groups, run, end } = recorder()
    const add = createGroupCommit(10, run)
    const done: string[] = []
    const adding = ['a', 'b', 'c'].map(async (item, index) => {
      if (index > 0) await turn()
      done.push(await add(item))
    })
    await turn()
    await turn()
    expect(groups).toEqual([['a']])
    end()
    await turn()
    expect(groups).toEqual([['a'], ['b', 'c']])
    expect(done).toEqual(['A'])
    end()
    await Promise.all(adding)
    expect(done).toEqual(['A', 'B', 'C'])
  })

  it('never exceeds the limit of a group', async () => {
    const groups: number[] = []
    const add = createGroupCommit(2, async (items: readonly number[]) => {
      groups.push(items.length)
      await turn()
      return []
    })
    await Promise.all([1, 2, 3, 4, 5].map(add))
    expect(groups).toEqual([2, 2, 1])
  })

  it('retries the items of a failed group one by one', async () => {
    const add = createGroupCommit(10, async (items: readonly string[]) => {
      await turn()
      if (items.includes('bad')) throw new Error('refused')
      return items
    })
    const answers = await Promise.allSettled(['good', 'bad', 'better'].map(add))
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    await add('later')
  })
})
