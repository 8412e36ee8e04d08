import { describe, expect, it } from 'vitest'
import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import { type ItemState, itemState, observeItem } from '../../../../workflows/landscaper/deploy-item/pass.ts'
import { itemView } from './item-view.ts'

const BY = { workflowID: 'deploy/n/x/u/j', runID: 'r', pass: 1 }
const INPUT = { subject: { kind: 'DeployItem', uid: 'u', namespace: 'n', name: 'x' }, jobID: 'j', cause: 'test' }
const view = (version: number) => ({ ...itemView('a'), version: String(version) })

describe('the state of an item in its run', () => {
  it('is the observed item, or the newer item of a background activity that has ended meanwhile', async () => {
    expect(await look(view(5))).toEqual(itemState(view(5)))
    expect(await look(view(5), itemState(view(4)))).toEqual(itemState(view(5)))
    expect(await look(view(5), itemState(view(10)))).toEqual(itemState(view(10)))
  })

  it('is undefined if the item is gone, also if a background activity has removed it', async () => {
    expect(await look(undefined)).toBeUndefined()
    expect(await look(undefined, itemState(view(4)))).toBeUndefined()
    expect(await look(view(5), { target: view(4), deployItems: [] })).toBeUndefined()
  })
})

async function look(found: DeployItemView | undefined, latest?: ItemState): Promise<ItemState | undefined> {
  return await observeItem({ observeDeployItem: () => Promise.resolve(found) }, INPUT, BY, () => latest)
}
