// Passes over a Target that is being deleted and is in use. Source: docs/adr/0075.

import { describe, expect, it } from 'vitest'

import { IN_USE_FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { targetController } from '../../../../workflows/landscaper/target/controller.ts'
import { later } from '../../../../workflows/kit/index.ts'
import { runPass } from '../../../../workflows/kit/testing/index.ts'

const DELETED = { deletionTimestamp: '2030-01-01T00:00:00Z' }

async function pass(users: readonly string[]) {
  const metadata = { name: 'cluster', finalizers: [IN_USE_FINALIZER], ...DELETED }
  return await runPass(targetController, {
    target: { metadata, spec: { type: 'example.com/any' } },
    state: {},
    calls: { releaseTarget: () => ({ users }) },
  })
}

describe('a Target that is being deleted', () => {
  it('keeps the finalizer while a DeployItem needs it, and is checked again after a minute', async () => {
    expect(await pass(['app'])).toMatchObject({ outcome: later(60_000), writes: [] })
    expect((await pass(['app'])).finalizer).toBeUndefined()
  })

  it('loses the finalizer when no DeployItem needs it', async () => {
    expect((await pass([])).finalizer).toBe('taken off')
  })

  it('is the only Target that starts a run', () => {
    const accepts = (metadata: object) => targetController.predicate?.({ metadata })
    expect(accepts({ finalizers: [IN_USE_FINALIZER] })).toBe(false)
    expect(accepts(DELETED)).toBe(false)
    expect(accepts({ ...DELETED, finalizers: ['example.com/other'] })).toBe(false)
    expect(accepts({ ...DELETED, finalizers: [IN_USE_FINALIZER] })).toBe(true)
  })
})
