import { describe, expect, it } from 'vitest'

import type { ObserveGroupInput } from '../../../../activities/landscaper/deploy/run/observe.ts'
import type { DeployGroupObservation } from '../../../../activities/landscaper/deploy/run/views.ts'
import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import type { DeployGroupState } from '../../../../workflows/landscaper/deploy-item/pass.ts'
import { observeDeployGroup } from '../../../../workflows/landscaper/deploy-item/observe-deploy-group.ts'

const BY = { workflowID: 'deploy/u/j', runID: 'r', pass: 1 }
const INPUT = { subject: { kind: 'Execution', uid: 'u', namespace: 'n', name: 'x' }, jobID: 'j', cause: 'test' }

describe('what a deploy group knows of its items', () => {
  it('is told once; then what changed, and what is gone', async () => {
    const asked: ObserveGroupInput['known'][] = []
    const first = await look(undefined, { changed: [item('b', 1), item('a', 2)] }, asked)
    expect(first.deployItems.map(({ name }) => name)).toEqual(['a', 'b'])
    const second = await look(first, { changed: [item('c', 7)], gone: ['uid-b'], isOver: true }, asked)
    expect(second).toMatchObject({
      isOver: true,
      deployItems: [
        { name: 'a', version: '2' },
        { name: 'c', version: '7' },
      ],
    })
    expect(asked).toEqual([{}, { 'uid-a': '2', 'uid-b': '1' }])
  })

  it('keeps what a track has done while it was looked', async () => {
    let latest: DeployGroupState = { deployItems: [item('a', 2), item('b', 3)], isOver: false }
    const act = {
      observeDeployGroup: async () => {
        await Promise.resolve()
        latest = { ...latest, deployItems: [item('a', 9), item('b', 3)] }
        return { changed: [item('a', 5), item('b', 4)], gone: [], isOver: false }
      },
    }
    const { deployItems } = await observeDeployGroup(act, INPUT, BY, () => latest)
    expect(deployItems.map(({ name, version }) => [name, version])).toEqual([
      ['a', '9'],
      ['b', '4'],
    ])
  })
})

function item(name: string, version: number): DeployItemView {
  return {
    ...{ uid: `uid-${name}`, version: String(version), name, item: name, type: 'mock', dependsOn: [], deleting: false },
    ...{ finalizers: [], phase: 'Init', jobID: 'j', jobIDFinished: undefined, exportRef: undefined },
    ...{ remainingMs: undefined, uninstalls: false },
  }
}

async function look(
  before: DeployGroupState | undefined,
  { changed = [], gone = [], isOver = false }: Partial<DeployGroupObservation>,
  asked: ObserveGroupInput['known'][],
): Promise<DeployGroupState> {
  const observe = (input: ObserveGroupInput) => {
    asked.push(input.known)
    return Promise.resolve({ changed: changed satisfies readonly DeployItemView[], gone, isOver })
  }
  return await observeDeployGroup({ observeDeployGroup: observe }, INPUT, BY, () => before)
}
