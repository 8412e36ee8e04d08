import { describe, expect, it } from 'vitest'
import { executionView } from '../../../../activities/landscaper/execution/views.ts'
import { storedAs } from '../../../../activities/kube/object-views.ts'
import { executionKind } from '../../../../workflows/landscaper/execution/kind.ts'
import { data } from '../tenant-data.ts'

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
