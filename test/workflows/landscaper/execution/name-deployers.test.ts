import { describe, expect, it } from 'vitest'
import { storedAs } from '../../../../activities/kube/object-views.ts'
import { data } from '../../../activities/landscaper/tenant-data.ts'
import { executionView } from '../../../../activities/landscaper/execution/views.ts'
import { executionKind } from '../../../../workflows/landscaper/execution/kind.ts'
import {
  nameDeployers,
  resetDeployersCondition,
} from '../../../../workflows/landscaper/execution/trigger-deploy-items.ts'
import { executionPass, pending, slow, succeeded } from './execution-pass.ts'

const builtIn = { ...succeeded('a'), type: 'landscaper.gardener.cloud/mock' }
const foreign = { ...succeeded('b'), type: 'example.com/theirs' }
const released = [expect.objectContaining({ type: 'DeployItemsFinished', status: 'True', reason: 'JobFinished' })]

describe('the condition DeployItemsFinished at the beginning of the phase', () => {
  const target = { phase: 'Init' }
  const named = (pass: ReturnType<typeof executionPass>['pass']) => {
    nameDeployers(pass)
    return pass.draft.conditions.map(({ message }) => message)
  }
  const theirs = { ...pending('b'), type: 'example.com/theirs' }
  const ours = slow(pending('c'))

  it('names items with external deployers, and no items that Pawl deploys', () => {
    expect(named(executionPass([builtIn, ours, theirs], { target }).pass)).toEqual([
      'items whose deployers are not part of Pawl: b (example.com/theirs); each waits for a deployer of its type',
    ])
  })

  it('names items for workers that serve other types', () => {
    const serves = [builtIn.type]
    const elsewhere = `items for workers that serve their types (--deployers): c (${ours.type})`
    expect(named(executionPass([builtIn, ours], { target, serves }).pass)).toEqual([
      `${elsewhere}; each waits for a deployer of its type`,
    ])
    expect(named(executionPass([ours, theirs], { target, serves }).pass)).toEqual([
      `items whose deployers are not part of Pawl: b (example.com/theirs); ${elsewhere}; each waits for a deployer of its type`,
    ])
  })
})

describe('the condition DeployItemsFinished at the end of the phase', () => {
  it('is True if items with external deployers exist', () => {
    const { pass } = executionPass([builtIn, foreign])
    resetDeployersCondition(pass)
    expect(pass.draft.conditions).toEqual(released)
  })

  it('is True if the item that it named is gone', () => {
    const { pass } = executionPass([builtIn], { target: { namesDeployers: true } })
    resetDeployersCondition(pass)
    expect(pass.draft.conditions).toEqual(released)
  })

  it('is not written if the execution waited for no deployer', () => {
    const { pass } = executionPass([builtIn], { target: { namesDeployers: false } })
    resetDeployersCondition(pass)
    expect(pass.draft.conditions).toEqual([])
  })
})

describe('the view of an Execution', () => {
  it.each([
    ['False', true],
    ['True', false],
  ])('contains the information from a condition with status %s', async (status, namesDeployers) => {
    const conditions = [{ type: 'DeployItemsFinished', status }]
    const object = {
      apiVersion: 'landscaper.gardener.cloud/v1alpha1',
      kind: 'Execution',
      metadata: { name: 'x', namespace: 'n' },
      spec: { deployItems: [] },
      status: { conditions },
    }
    expect(await executionView(storedAs(executionKind, object), data)).toMatchObject({ namesDeployers })
  })
})
