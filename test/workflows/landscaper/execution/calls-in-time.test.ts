// An activity call that runs out of time returns the remaining items, and the same pass calls the activity again for them: it skips no item and processes none twice.
// Source: activities/run/process-in-time.ts.

import { describe, expect, it } from 'vitest'
import type { BatchResult, ItemsInput } from '../../../../activities/landscaper/execution/item-batch.ts'
import { applyDeployItems } from '../../../../workflows/landscaper/execution/apply-deploy-items.ts'
import { deleteDeployItems, triggerDeletion } from '../../../../workflows/landscaper/execution/delete-items.ts'
import { endUnclaimedItems, interruptItems } from '../../../../workflows/landscaper/execution/end-items.ts'
import { triggerDeployItems } from '../../../../workflows/landscaper/execution/trigger-deploy-items.ts'
import type { ExecutionPass } from '../../../../workflows/landscaper/execution/pass.ts'
import { done, type Outcome } from '../../../../workflows/kit/index.ts'
import { executionPass, leaving, pending, running, served, wrote } from './execution-pass.ts'

const AT_ONCE = 2
const NAMES = ['a', 'b', 'c', 'd', 'e']

/** Each call does no more than the first few. */
function slowed({ act }: ExecutionPass): ExecutionPass['act'] {
  const some =
    <Result extends BatchResult>(call: (input: ItemsInput) => Promise<Result>) =>
    async (input: ItemsInput) => {
      const result = await call({ ...input, items: input.items.slice(0, AT_ONCE) })
      return { ...result, left: input.items.slice(AT_ONCE).map(({ name }) => name) }
    }
  const { triggerDeployItems, deleteDeployItems, releaseDeployItems, endUnclaimedItems, interruptExecution } = act
  return {
    ...act,
    triggerDeployItems: some(triggerDeployItems),
    deleteDeployItems: some(deleteDeployItems),
    releaseDeployItems: some(releaseDeployItems),
    endUnclaimedItems: some(endUnclaimedItems),
    async interruptExecution({ request, ...input }) {
      const left = input.items.slice(AT_ONCE).map(({ name }) => name)
      const result = await interruptExecution({ ...input, items: input.items.slice(0, AT_ONCE), request })
      return { ...result, left, target: left.length === 0 ? result.target : undefined }
    },
    async deployMockItems(input) {
      const result = await act.deployMockItems({ ...input, items: input.items.slice(0, AT_ONCE) })
      return { ...result, left: input.items.slice(AT_ONCE).map(({ uid }) => uid) }
    },
  }
}

interface Course {
  readonly made: Parameters<typeof executionPass>[0]
  readonly given?: Parameters<typeof executionPass>[1]
  readonly step: (pass: ExecutionPass) => Promise<Outcome>
}

const OVERDUE = { pickupMs: 0 }
const COURSES: Readonly<Record<string, Course>> = {
  'are deleted': { made: NAMES.map((name) => pending(name)), step: deleteDeployItems },
  'are handed the job ID': { made: NAMES.map((name) => pending(name)), step: triggerDeployItems },
  'are deployed': { made: NAMES.map((name) => served(pending(name))), step: triggerDeployItems },
  'are uninstalled by Pawl': { made: NAMES.map((name) => served(leaving(pending(name)))), step: triggerDeletion },
  'are released without an uninstallation': {
    made: NAMES.map((name) => leaving(pending(name))),
    given: { target: { withoutUninstall: true } },
    step: triggerDeletion,
  },
  'are ended because no deployer picks them up': {
    made: NAMES.map((name) => ({ ...running(name), ...OVERDUE })),
    step: endUnclaimedItems,
  },
  'are interrupted': {
    made: NAMES.map((name) => running(name)),
    given: { target: { interruptRequested: true } },
    step: interruptItems,
  },
}

describe('many items in activity calls that each process a few items', () => {
  it.each(Object.entries(COURSES))('%s, each once, with the result of one call', async (_, { made, given, step }) => {
    const whole = executionPass(made, given)
    const inParts = executionPass(made, given)
    Object.assign(inParts.pass, { act: slowed(inParts.pass) })
    const outcome = await step(whole.pass)
    expect(await step(inParts.pass)).toEqual(outcome)
    expect(inParts.pass.state).toEqual(whole.pass.state)
    const { deployed, ...lists } = inParts.called
    expect(lists).toEqual({ ...whole.called, deployed: undefined })
    const hosted = (texts: readonly string[]) => texts.flatMap((text) => text.replace('hosted: ', '').split(', '))
    expect(hosted(deployed)).toEqual(hosted(whole.called.deployed))
  })

  it('are all applied, and each call passes the items that the run already knows', async () => {
    const asked: unknown[] = []
    const { pass } = executionPass([pending('a')], {
      act: {
        applyDeployItems({ only, known = {} }) {
          asked.push({ only, known: Object.keys(known) })
          const rest = only ?? ['exec-b', 'exec-c']
          return Promise.resolve({
            ...wrote(rest.slice(0, 1).map((name) => pending(name.slice(5)))),
            left: rest.slice(1),
          })
        },
      },
    })
    expect(await applyDeployItems(pass)).toEqual(done)
    expect(asked).toEqual([
      { only: undefined, known: ['uid-a'] },
      { only: ['exec-c'], known: ['uid-a', 'uid-b'] },
    ])
    expect(pass.state.deployItems.map(({ item }) => item)).toEqual(['a', 'b', 'c'])
  })
})
