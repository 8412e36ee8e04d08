import { describe, expect, it } from 'vitest'

import { runPass, stored } from '../../../../workflows/kit/testing/index.ts'
import { contextController } from '../../../../workflows/landscaper/context/controller.ts'
import type { Context } from '../../../../workflows/landscaper/context/kind.ts'

const ghcr = { type: 'OCIRegistry', baseUrl: 'ghcr.io/acme' }

describe('the default Context of a namespace', () => {
  it('is created if it is missing, and stays if the flags change', async () => {
    const { writes, outcome, ended, next } = await pass({ wanted: { repositoryContext: ghcr } })
    expect(writes).toMatchObject([
      { verb: 'create', object: { metadata: { name: 'default', namespace: 'shop' }, repositoryContext: ghcr } },
    ])
    expect([outcome.faults, ended]).toEqual([[], 'Converged'])
    expect(next.state.context).toBeDefined()
    expect((await pass({ wanted: null, found: { repositoryContext: ghcr } })).written).toEqual([])
  })

  it('has no repository if none is configured', async () => {
    const { writes } = await pass({ wanted: {} })
    expect(writes).toMatchObject([{ verb: 'create' }])
    expect(JSON.stringify(writes)).not.toContain('repositoryContext')
    expect((await pass({ wanted: {}, found: { repositoryContext: ghcr } })).written).toEqual([])
  })

  it('gets the configured repository, and no other change', async () => {
    const found = { repositoryContext: { ...ghcr, subPath: 'old' }, registryPullSecrets: [{ name: 'mine' }] }
    const { writes, next } = await pass({ wanted: { repositoryContext: { ...ghcr, baseUrl: 'new' } }, found })
    expect(writes).toMatchObject([{ verb: 'patch', patch: { repositoryContext: { baseUrl: 'new', subPath: null } } }])
    expect(next.state.context).toMatchObject({ registryPullSecrets: [{ name: 'mine' }] })
    expect((await pass({ wanted: { repositoryContext: ghcr }, found: { repositoryContext: ghcr } })).written).toEqual(
      [],
    )
  })

  it('is not created in an excluded namespace or in a namespace that is being deleted', async () => {
    expect((await pass({ wanted: null })).written).toEqual([])
    const going = await pass({ wanted: {}, metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })
    expect([going.written, going.ended]).toEqual([[], 'Deleted'])
  })
})

interface Given {
  readonly wanted: { readonly repositoryContext?: object } | null
  readonly found?: Partial<Context>
  readonly metadata?: object
}

async function pass({ wanted, found, metadata }: Given) {
  const own = { apiVersion: 'landscaper.gardener.cloud/v1alpha1', kind: 'Context' } as const
  return await runPass(contextController, {
    target: { metadata: { name: 'shop', ...metadata } },
    state:
      found === undefined
        ? {}
        : { context: stored<Context>({ ...own, metadata: { name: 'default', namespace: 'shop' }, ...found }) },
    calls: { describeContext: () => wanted },
  })
}
