// Items that are left out. That it is so on servers: test/e2e/one-item.test.ts.

import { describe, expect, it } from 'vitest'
import { done } from '../../../../workflows/kit/index.ts'
import { skipItems } from '../../../../workflows/landscaper/execution/end-items.ts'
import { triggerDeployItems } from '../../../../workflows/landscaper/execution/trigger-deploy-items.ts'
import { busy, executionPass, failed, leaving, pending, running, slow, succeeded } from './execution-pass.ts'

const skipped = { isSkipped: true } as const

describe('a skipped item', () => {
  it.each([
    ['waits', pending('a')],
    ['runs', running('a')],
    ['has failed', failed('a')],
  ])('ends where it %s, and what is behind it begins', async (_, item) => {
    const { pass, called } = executionPass([{ ...item, ...skipped }, pending('b', ['a'])])
    expect(await skipItems(pass)).toEqual(done)
    expect(called.skipped).toEqual(['a'])
    await triggerDeployItems(pass)
    expect(called.triggered).toEqual(['b'])
  })

  it('gets no further work', async () => {
    const { pass, tracks } = executionPass([{ ...slow(running('a')), ...skipped }])
    await skipItems(pass)
    expect(tracks.retained).toEqual(new Set())
  })

  it.each([
    ['ended', succeeded('a')],
    ['runs another job', busy(pending('a'))],
    ['is being deleted', leaving(pending('a'))],
  ])('stays as it is where it %s', async (_, item) => {
    const { pass, called } = executionPass([{ ...item, ...skipped }])
    expect(await skipItems(pass)).toEqual(done)
    expect(called.skipped).toEqual([])
  })

  it('that the spec does not name is uninstalled like any other', async () => {
    const { pass, called } = executionPass([{ ...pending('a'), ...skipped }], { target: { items: [] } })
    await skipItems(pass)
    expect(called.skipped).toEqual([])
  })
})
