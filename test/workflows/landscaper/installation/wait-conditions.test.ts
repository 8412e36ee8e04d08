import { describe, expect, it } from 'vitest'
import { applyChildren } from '../../../../workflows/landscaper/installation/apply-children.ts'
import { stop } from '../../../../workflows/kit/index.ts'
import { currentWait } from '../../../../workflows/landscaper/installation/wait-conditions.ts'
import { installationPass } from './installation-pass.ts'

const reason = 'waiting for context n/default'
const waiting = { result: 'waiting' as const, of: 'context' as const, reason }

describe('a job that waits for the Context of its namespace', () => {
  it.each([false, true])('says so once, also that of a sub-installation: %s', async (hasParent) => {
    const first = await passed({ hasParent })
    expect(first.draft.conditions).toMatchObject([{ type: 'WaitsForContext', status: 'True', message: reason }])
    expect(currentWait(first)).toBe(reason)
    const next = await passed({ hasParent, contextWait: reason })
    expect([next.draft.conditions, currentWait(next)]).toEqual([[], reason])
  })

  it('reports that it waits for siblings instead, if it does', async () => {
    const act = { applyChildren: () => Promise.resolve({ ...waiting, of: 'siblings' as const, reason: 'for a' }) }
    const { pass } = installationPass({ execution: undefined, target: { contextWait: reason }, act })
    expect(await applyChildren(pass)).toEqual(stop('for a'))
    expect(pass.draft.conditions).toMatchObject([
      { type: 'WaitsForContext', status: 'False' },
      { type: 'WaitsForSiblings', status: 'True', message: 'for a' },
    ])
    expect(currentWait(pass)).toBe('for a')
  })
})

async function passed(target: object) {
  const act = { applyChildren: () => Promise.resolve(waiting) }
  const { pass } = installationPass({ execution: undefined, target, act })
  expect(await applyChildren(pass)).toEqual(stop(reason))
  return pass
}
