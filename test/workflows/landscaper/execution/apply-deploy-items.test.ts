import { describe, expect, it } from 'vitest'
import { applyDeployItems, setDeployItemCache } from '../../../../workflows/landscaper/execution/apply-deploy-items.ts'
import { triggerDeployItems } from '../../../../workflows/landscaper/execution/trigger-deploy-items.ts'
import { executionPass, failed, leaving, pending, running, succeeded, THEIRS, wrote } from './execution-pass.ts'

const items = ['a', 'b'].map((name) => ({ name, type: THEIRS, dependsOn: [] }))
const active = (...names: readonly string[]) => names.map((specName) => ({ specName, objectName: `exec-${specName}` }))

describe('the names of deploy items in the status of an execution', () => {
  it('list the items of the spec as active, and removed or deleted items as orphaned', () => {
    const { pass } = executionPass([succeeded('a'), succeeded('old'), leaving(succeeded('b'))], { target: { items } })
    setDeployItemCache(pass)
    expect(pass.draft.fields).toEqual({
      deployItemCache: { activeDIs: active('a'), orphanedDIs: ['exec-b', 'exec-old'] },
    })
  })

  it('have the order of the spec, for any order of the observed items', () => {
    const { pass } = executionPass([succeeded('b'), succeeded('old'), succeeded('a'), succeeded('more')], {
      target: { items },
    })
    setDeployItemCache(pass)
    expect(pass.draft.fields).toEqual({
      deployItemCache: { activeDIs: active('a', 'b'), orphanedDIs: ['exec-more', 'exec-old'] },
    })
  })

  it('are part of the status of the pass that creates the items', async () => {
    const applied = () => Promise.resolve(wrote([pending('a'), pending('b')]))
    const { pass } = executionPass([], { target: { items, phase: 'Init' }, act: { applyDeployItems: applied } })
    await applyDeployItems(pass)
    expect(pass.draft.fields).toEqual({ deployItemCache: { activeDIs: active('a', 'b'), orphanedDIs: [] } })
  })

  it('are not written while items cannot be created, nor while they run', async () => {
    const failures = [{ object: 'exec-a', code: 'Timeout', message: 'no', retryable: true }]
    const applied = () => Promise.resolve({ ...wrote([]), failures })
    const { pass } = executionPass([], { target: { items, phase: 'Init' }, act: { applyDeployItems: applied } })
    await applyDeployItems(pass)
    const waiting = executionPass([running('a'), running('b')]).pass
    await triggerDeployItems(waiting)
    expect([pass.draft.fields, waiting.draft.fields]).toEqual([{}, {}])
  })

  it('are written again when the items end, for any result', async () => {
    const ends = [executionPass([succeeded('a')]), executionPass([failed('a')])]
    for (const { pass } of ends) {
      await triggerDeployItems(pass)
      expect(pass.draft.fields).toEqual({ deployItemCache: { activeDIs: active('a'), orphanedDIs: [] } })
    }
  })

  it('are left out for very many items', () => {
    const { pass } = executionPass(Array.from({ length: 501 }, (_, index) => succeeded(`i${index}`)))
    setDeployItemCache(pass)
    expect(pass.draft.fields).toEqual({ deployItemCache: null })
  })
})
